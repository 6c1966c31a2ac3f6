package main

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
	"github.com/plinthhost/plinth/sdk-plugins/go/schema"
)

// The schema files are made of the types; plinth plugin test --update writes them.
func TestSchemas(t *testing.T) {
	plinthtest.Schemas(t, map[string][]byte{
		"new-plugin.schema.json":        schema.Of[input](),
		"new-plugin.output.schema.json": schema.Of[output](),
	})
}

// call calls the tool natively, on a host that has one file.
func call(t *testing.T, arguments string) (abi.ToolOutput, error) {
	t.Helper()
	host := &plinthtest.Host{Roots: map[string]fs.FS{
		"location": fstest.MapFS{"a.txt": {Data: []byte("one two\nthree\n")}},
	}}
	host.Serve(t)
	return plinthtest.Call[abi.ToolOutput](t, abi.ExportTool, abi.ToolExecute{Tool: "new-plugin", Input: json.RawMessage(arguments)})
}

func TestCount(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"path": "a.txt"}`:                  "a.txt has 3 words",
		`{"path": "a.txt", "unit": "lines"}`: "a.txt has 2 lines",
		`{"path": "a.txt", "unit": "bytes"}`: "a.txt has 14 bytes",
	} {
		answer, err := call(t, arguments)
		if err != nil {
			t.Errorf("%s: %v", arguments, err)
		} else if got := answer.Content[0].Text; got != want {
			t.Errorf("%s: %q, want %q", arguments, got, want)
		}
	}
}

func TestErrorsKeepTheirKind(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"path": "b.txt"}`:             "not_found: ",
		`{"path": "a.txt", "words": 1}`: "invalid_input: ",
	} {
		if _, err := call(t, arguments); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", arguments, err, want)
		}
	}
}
