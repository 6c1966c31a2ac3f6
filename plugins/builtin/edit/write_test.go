package main

import (
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

func TestWrite(t *testing.T) {
	d := newDesk(t, map[string]string{"a.txt": "old", "bom.txt": "\ufeffold", "dos.txt": "a\r\nb\r\n", "mixed.txt": "a\r\nb\n"})
	for _, c := range []struct {
		path, content, text string
		want                string
		out                 written
	}{
		{"deep/er/new.txt", "one\ntwo", "Created deep/er/new.txt: 2 lines, 7 bytes.", "one\ntwo", written{"created", "deep/er/new.txt", 2, 7}},
		{"a.txt", "new\n", "Replaced a.txt: 1 line, 4 bytes.", "new\n", written{"replaced", "a.txt", 1, 4}},
		{"./a.txt", "", "Replaced a.txt: 0 lines, 0 bytes.", "", written{"replaced", "a.txt", 0, 0}},
		{"bom.txt", "new", "Replaced bom.txt: 1 line, 6 bytes.", "\ufeffnew", written{"replaced", "bom.txt", 1, 6}},
		{"bom.txt", "\ufeffnewer", "Replaced bom.txt: 1 line, 8 bytes.", "\ufeffnewer", written{"replaced", "bom.txt", 1, 8}},
		{"two.txt", "\ufeff\ufeffx", "Created two.txt: 1 line, 4 bytes.", "\ufeffx", written{"created", "two.txt", 1, 4}},
		{"dos.txt", "one\ntwo\n", "Replaced dos.txt: 2 lines, 10 bytes, with its CRLF line endings.", "one\r\ntwo\r\n", written{"replaced", "dos.txt", 2, 10}},
		{"dos.txt", "one", "Replaced dos.txt: 1 line, 3 bytes.", "one", written{"replaced", "dos.txt", 1, 3}},
		{"mixed.txt", "one\n", "Replaced mixed.txt: 1 line, 4 bytes.", "one\n", written{"replaced", "mixed.txt", 1, 4}},
		{"crlf.txt", "a\r\nb\n", "Created crlf.txt: 2 lines, 5 bytes.", "a\r\nb\n", written{"created", "crlf.txt", 2, 5}},
	} {
		text, out, err := useWrite(t, c.path, c.content)
		if err != nil || text != c.text || out != c.out {
			t.Errorf("%s: %q %+v, %v", c.path, text, out, err)
		}
		if got := fileData(d.files[out.Path]); got != c.want {
			t.Errorf("%s holds %q, want %q", c.path, got, c.want)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	d := newDesk(t, map[string]string{"a.txt": "old", "big": strings.Repeat("x", maxFile+1), "dos": "a\r\n"})
	_, _, err := useWrite(t, "", "x")
	refused(t, err, abi.KindInvalidInput, "path is missing")
	_, _, err = useWrite(t, "a\x00b", "x")
	refused(t, err, abi.KindInvalidInput, "NUL")
	_, _, err = useWrite(t, "new", strings.Repeat("x", maxFile+1))
	refused(t, err, abi.KindLimit, "content has 4194305 bytes; the most is 4194304")
	_, err = plinthtest.Call[abi.ToolOutput](t, abi.ExportTool, abi.ToolExecute{Tool: "write", Input: []byte(`{"path":"a.txt"}`)})
	refused(t, err, abi.KindInvalidInput, "content is missing")
	if len(d.Asked) != 0 {
		t.Errorf("the host was asked: %v", d.Asked)
	}
	_, _, err = useWrite(t, "big", "x")
	refused(t, err, abi.KindLimit, "big has 4194305 bytes")
	_, _, err = useWrite(t, "../x", "x")
	refused(t, err, abi.KindDenied, "outside")
	_, _, err = useWrite(t, "dos", strings.Repeat("x", maxFile-1)+"\n")
	refused(t, err, abi.KindLimit, "content has 4194305 bytes with the byte-order mark and the line endings of dos")
	if _, _, err = useWrite(t, "new", strings.Repeat("x", maxFile)); err != nil {
		t.Error(err)
	}
}

// What was read is compared with what is there when it is written.
func TestWriteSeesOthers(t *testing.T) {
	d := newDesk(t, map[string]string{"a.txt": "old"})
	d.allow("allow")
	for _, path := range []string{"a.txt", "new.txt"} {
		d.onCommit(func() { d.put(path, "theirs") })
		_, _, err := useWrite(t, path, "mine")
		refused(t, err, abi.KindConflict, path+" changed on disk before it was written; read it")
	}
	d.holds(t, map[string]string{"a.txt": "theirs", "new.txt": "theirs"})
}
