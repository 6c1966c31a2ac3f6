module github.com/plinthhost/plinth/sdk-plugins/go

go 1.26.0

require github.com/plinthhost/plinth v0.0.0

replace github.com/plinthhost/plinth => ../..
