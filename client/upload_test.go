package client_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
)

func TestUpload(t *testing.T) {
	t.Parallel()
	h := start(t)
	for _, options := range []client.Options{{Address: "unix:" + h.socket}, {Address: h.url, Token: h.admin}} {
		c := dial(t, options)
		large := "%PDF-1.7\n" + strings.Repeat("x", 3<<20) // more than other bodies may have
		for mime, content := range map[string]string{protocol.MimeText: "some text", protocol.MimePDF: large} {
			blob, err := c.Upload(t.Context(), mime, []byte(content))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(protocol.Blob{Blob: blob.Blob, Mime: mime, Bytes: int64(len(content))}, blob); diff != "" || string(h.Blob(blob.Blob)) != content {
				t.Errorf("%s: %s", mime, diff)
			}
		}
	}
}

func TestUploadErrors(t *testing.T) {
	t.Parallel()
	h := start(t)
	c := dial(t, client.Options{Address: "unix:" + h.socket})
	for name, test := range map[string]struct {
		mime, value string
		code        protocol.Code
	}{
		"empty":        {protocol.MimeText, "", protocol.BadRequest},
		"too large":    {protocol.MimeText, strings.Repeat("x", protocol.MaxBlob+1), protocol.TooLarge},
		"another type": {protocol.MimePNG, "text", protocol.BadRequest},
		"no type":      {"", "text", protocol.BadRequest},
	} {
		_, err := c.Upload(t.Context(), test.mime, []byte(test.value))
		if !errors.Is(err, &protocol.Error{Code: test.code}) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
