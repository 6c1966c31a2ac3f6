module github.com/plinthhost/plinth/plugins/templates/go-context

go 1.26.0

require (
	github.com/plinthhost/plinth v0.0.0
	github.com/plinthhost/plinth/sdk-plugins/go v0.0.0
)

replace (
	github.com/plinthhost/plinth => ../../..
	github.com/plinthhost/plinth/sdk-plugins/go => ../../../sdk-plugins/go
)
