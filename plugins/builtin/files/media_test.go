package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

// The bytes say what a file is, not its name.
func TestReadShowsImagesAndDocuments(t *testing.T) {
	files := map[string]string{
		"pic.zip": "\x89PNG\r\n\x1a\nrest", "sub/p.jpg": "\xff\xd8\xff\xe0", "p.gif": "GIF89a", "old.gif": "GIF87a",
		"p.webp": "RIFF\x00\x00\x00\x00WEBPVP8 ", "doc": "%PDF-1.7\n" + strings.Repeat("\x00", 100_000),
	}
	h := hostWith(t, files)
	for _, c := range []struct{ in, name, mime, text string }{
		{`{"path":"pic.zip"}`, "pic.zip", "image/png", "pic.zip is shown as an image (image/png, 12 bytes)"},
		{`{"path":"sub/p.jpg"}`, "p.jpg", "image/jpeg", "sub/p.jpg is shown as an image (image/jpeg, 4 bytes)"},
		{`{"path":"p.gif","offset":7,"limit":1}`, "p.gif", "image/gif", "p.gif is shown as an image (image/gif, 6 bytes)"},
		{`{"path":"old.gif"}`, "old.gif", "image/gif", "old.gif is shown as an image (image/gif, 6 bytes)"},
		{`{"path":"./p.webp"}`, "p.webp", "image/webp", "p.webp is shown as an image (image/webp, 16 bytes)"},
		{`{"path":"doc"}`, "doc", "application/pdf", "doc is shown as a document (application/pdf, 100009 bytes)"},
	} {
		h.ReadBytes = 0
		output, err := plinthtest.Call[abi.ToolOutput](t, abi.ExportTool, abi.ToolExecute{Tool: "read", Input: json.RawMessage(c.in)})
		if err != nil || len(output.Content) != 2 || output.Content[0].Text != c.text {
			t.Errorf("%s: %+v, %v", c.in, output.Content, err)
			continue
		}
		file := output.Content[1]
		if file.Type != "file" || file.Name != c.name || file.Mime != c.mime || file.Data != nil || file.Blob == nil {
			t.Errorf("%s: %+v", c.in, file)
			continue
		}
		path, _, _ := strings.Cut(c.text, " ")
		if string(h.Blobs[file.Blob.Digest]) != files[path] || h.ReadBytes > chunk {
			t.Errorf("%s: %d bytes are kept of %d; %d were read", c.in, len(h.Blobs[file.Blob.Digest]), len(files[path]), h.ReadBytes)
		}
		var out result
		if err := json.Unmarshal(output.Structured, &out); err != nil || out != (result{Type: "file", Path: path, Offset: 1, Size: int64(len(files[path])), Mime: c.mime}) {
			t.Errorf("%s: %+v, %v", c.in, out, err)
		}
	}
}

func TestReadRefusesMedia(t *testing.T) {
	h := hostWith(t, map[string]string{"huge.png": "\x89PNG\r\n\x1a\n" + strings.Repeat("x", maxMedia), "a.png": "\x89PNG\r\n\x1a\n", "b.png": "\x89PNG\r\n\x1a\n"})
	h.Refuse = func(operation string, path abi.Path) error {
		switch {
		case operation == abi.OpFSAttach && path.Path == "a.png":
			return &abi.Error{Kind: abi.KindDenied, Message: "not this one"}
		case operation == abi.OpFSAttach && path.Path == "b.png":
			h.Roots = map[string]fs.FS{"location": fstest.MapFS{"b.png": {Data: []byte("text by now")}}}
		}
		return nil
	}
	for in, want := range map[string]*abi.Error{
		`{"path":"huge.png","offset":2}`: {Kind: abi.KindLimit, Message: "huge.png (image/png) has 10485768 bytes; images and documents of at most 10485760 are shown"},
		`{"path":"a.png"}`:               {Kind: abi.KindDenied, Message: "not this one"},
	} {
		_, _, err := call(t, in)
		var failure *abi.Error
		if !errors.As(err, &failure) || *failure != *want {
			t.Errorf("%s: %v, want %v", in, err, want)
		}
	}
	if slices.Contains(h.Asked, "fs.attach location:huge.png") {
		t.Error("a file that is too large was attached")
	}
	if _, _, err := call(t, `{"path":"b.png"}`); err == nil || err.Error() != "conflict: b.png changed while it was read; read it again" {
		t.Errorf("a file that changed: %v", err)
	}
}
