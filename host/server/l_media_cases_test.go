package server_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// The numbered case of files, at the door that takes them.
func TestMediaCases(t *testing.T) {
	sessiontest.Cases(t, "L", []sessiontest.Case{
		{Number: 308, Text: "A file that is not of the type that is told, that comes as a data URL or as base64, or that has more than 20 MiB, is refused before there is any request.",
			Ours: "The door of uploads refuses it (bad_request, too_large). Nothing there takes base64: files come as their bytes, and the host writes the base64 of requests itself. What a tool attaches is held to the same by the tool's call, which fails; a file of an MCP server gets the type that its bytes tell.",
			Run:  filesAreRefused},
	})
}

func filesAreRefused(t *testing.T) {
	r := start(t)
	png := files[protocol.MimePNG]
	encoded := base64.StdEncoding.EncodeToString([]byte(png))
	for name, c := range map[string]struct {
		body string
		code protocol.Code
		says string
	}{
		"another type":         {files[protocol.MimeJPEG], protocol.BadRequest, "Content-Type says image/png, but the bytes are image/jpeg"},
		"a data URL":           {"data:image/png;base64," + encoded, protocol.BadRequest, "Content-Type says image/png, but the bytes are text/plain"},
		"base64":               {encoded, protocol.BadRequest, "the bytes are text/plain"},
		"one byte over 20 MiB": {png + strings.Repeat("x", 20<<20-len(png)+1), protocol.TooLarge, "20971520"},
	} {
		if p := r.refused(upload(protocol.MimePNG, c.body, "")); p.Code != c.code || !strings.Contains(p.Detail, c.says) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if got := get[protocol.Blob](r, upload(protocol.MimePNG, png+strings.Repeat("x", 20<<20-len(png)), "")); got.Mime != protocol.MimePNG || got.Bytes != 20<<20 {
		t.Errorf("20 MiB: %+v", got)
	}
}
