// In place of ../go.mod: with the PDK.
module github.com/plinthhost/plinth/tests/conformance/guests/go

go 1.26.0

require (
	github.com/extism/go-pdk v1.1.3
	github.com/plinthhost/plinth v0.0.0
	github.com/plinthhost/plinth/sdk-plugins/go v0.0.0
)

replace (
	github.com/plinthhost/plinth => ../../../..
	github.com/plinthhost/plinth/sdk-plugins/go => ../../../../sdk-plugins/go
)
