package main

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

// desk is a location with files, which the tools change.
type desk struct {
	*plinthtest.Host
	files fstest.MapFS
}

func newDesk(t testing.TB, files map[string]string) *desk {
	t.Helper()
	d := &desk{files: fstest.MapFS{}}
	for name, content := range files {
		d.files[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	d.Host = &plinthtest.Host{Roots: map[string]fs.FS{"location": d.files}, Location: "/work/here", Operations: map[string]plinthtest.Operation{}}
	d.allow("ask")
	d.Serve(t)
	return d
}

// allow says what permission.check answers of every edit.
func (d *desk) allow(effect string) {
	d.Operations[abi.OpPermissionCheck] = func(request json.RawMessage, _ []byte) (any, []byte, error) {
		var asked abi.PermissionCheck
		if err := json.Unmarshal(request, &asked); err != nil {
			return nil, nil, err
		}
		var checked abi.PermissionChecked
		for range asked.Resources {
			checked.Effects = append(checked.Effects, effect)
		}
		return checked, nil, nil
	}
}

// onCommit has happen called before the host looks at the files of each commit.
func (d *desk) onCommit(happen func()) {
	d.Refuse = func(operation string, _ abi.Path) error {
		if operation == abi.OpFSCommit {
			happen()
		}
		return nil
	}
}

// put writes a file as another program would.
func (d *desk) put(name, content string) { d.files[name] = &fstest.MapFile{Data: []byte(content)} }

// holds demands the files of the location, all of them.
func (d *desk) holds(t testing.TB, want map[string]string) {
	t.Helper()
	for name, content := range want {
		if file, ok := d.files[name]; !ok || string(file.Data) != content {
			t.Errorf("%s: got %q, want %q", name, fileData(file), content)
		}
	}
	for name := range d.files {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is there: %q", name, d.files[name].Data)
		}
	}
}

func fileData(file *fstest.MapFile) string {
	if file == nil {
		return "(no file)"
	}
	return string(file.Data)
}

// use calls a tool and answers its text and its structured output.
func use[In, Out any](t testing.TB, name string, in In) (text string, out Out, err error) {
	t.Helper()
	encoded, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	output, err := plinthtest.Call[abi.ToolOutput](t, abi.ExportTool, abi.ToolExecute{Tool: name, Input: encoded})
	if err != nil {
		return "", out, err
	}
	if err := json.Unmarshal(output.Structured, &out); err != nil {
		t.Fatal(err)
	}
	if len(output.Content) != 1 || output.Title == "" {
		t.Fatalf("%+v", output)
	}
	return output.Content[0].Text, out, nil
}

func useEdit(t testing.TB, path, old, replacement string, all bool) (string, edited, error) {
	t.Helper()
	return use[editInput, edited](t, "edit", editInput{Path: path, Old: old, New: replacement, All: all})
}

func useWrite(t testing.TB, path, content string) (string, written, error) {
	t.Helper()
	return use[writeInput, written](t, "write", writeInput{Path: path, Content: &content})
}

// usePatch applies a patch, given without its first and last line.
func usePatch(t testing.TB, body string) (string, patched, error) {
	t.Helper()
	return use[patchInput, patched](t, "apply_patch", patchInput{Patch: "*** Begin Patch\n" + body + "\n*** End Patch"})
}

// refused demands an error that begins with a kind and says something.
func refused(t testing.TB, err error, kind abi.Kind, says string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), string(kind)+": ") || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want %s: %s", err, kind, says)
	}
}
