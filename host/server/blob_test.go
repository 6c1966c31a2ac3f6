package server_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/store"
)

// The first bytes of each type, with something behind them.
var files = map[string]string{
	protocol.MimePNG:  "\x89PNG\r\n\x1a\nrest",
	protocol.MimeJPEG: "\xff\xd8\xff\xe0rest",
	protocol.MimeGIF:  "GIF89arest",
	protocol.MimeWebP: "RIFF\x04\x00\x00\x00WEBPVP8 rest",
	protocol.MimePDF:  "%PDF-1.7 rest",
	protocol.MimeText: "häuser\r\n\x1b[1mbold\x1b[0m\n",
}

func upload(mime, body, token string) call {
	return call{method: "POST", path: protocol.BlobsPath, body: body, token: token, header: map[string]string{"Content-Type": mime}}
}

func TestUpload(t *testing.T) {
	t.Parallel()
	r := start(t)
	write := r.token(protocol.ScopeWrite)
	if len(files) != len(protocol.BlobTypes()) {
		t.Fatal("a type has no example")
	}
	for mime, content := range files {
		for range 2 {
			status, _, answer := r.do(upload(mime, content, write))
			var got map[string]any
			if err := json.Unmarshal(answer, &got); err != nil || status != http.StatusCreated {
				t.Fatalf("%s answered %d %s", mime, status, answer)
			}
			digest := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
			diff(t, mime, map[string]any{"blob": digest, "mime": mime, "bytes": float64(len(content))}, got)
			diff(t, mime, content, string(r.Blob(digest)))
		}
	}
	for _, mime := range []string{"text/plain; charset=UTF-8", "Text/Plain;charset=us-ascii"} {
		if got := get[protocol.Blob](r, upload(mime, "BM is no bitmap, <html> no page", "")); got.Mime != "text/plain" {
			t.Errorf("%s: %+v", mime, got)
		}
	}
}

func TestUploadIsRefused(t *testing.T) {
	t.Parallel()
	r := start(t)
	read := r.token(protocol.ScopeRead)
	png := files[protocol.MimePNG]
	for name, test := range map[string]struct {
		call call
		code protocol.Code
		want string
	}{
		"no right":       {upload(protocol.MimePNG, png, read), protocol.Forbidden, "session:write"},
		"no token":       {upload(protocol.MimePNG, png, "plinth_no_no"), protocol.Unauthenticated, ""},
		"no type":        {upload("", png, r.admin), protocol.BadRequest, "Content-Type is missing; it must be one of image/png, image/jpeg, image/gif, image/webp, application/pdf, text/plain"},
		"a bad type":     {upload("image", png, r.admin), protocol.BadRequest, "must be one of image/png, "},
		"svg":            {upload("image/svg+xml", "<svg/>", r.admin), protocol.BadRequest, `"image/svg+xml" cannot be attached; Content-Type must be one of`},
		"json":           {upload("application/json", "{}", r.admin), protocol.BadRequest, "cannot be attached"},
		"bytes":          {upload("application/octet-stream", png, r.admin), protocol.BadRequest, "cannot be attached"},
		"another image":  {upload(protocol.MimeJPEG, png, r.admin), protocol.BadRequest, "Content-Type says image/jpeg, but the bytes are image/png"},
		"a page":         {upload(protocol.MimePDF, "<html>", r.admin), protocol.BadRequest, "Content-Type says application/pdf, but the bytes are text/html"},
		"a program":      {upload(protocol.MimeText, "\x7fELF\x01\x01", r.admin), protocol.BadRequest, "byte 4 is 0x01, which UTF-8 text does not have"},
		"latin-1":        {upload(protocol.MimeText, "h\xe4user", r.admin), protocol.BadRequest, "byte 1 is 0xe4, which UTF-8 text does not have there"},
		"latin-1 as one": {upload("text/plain; charset=latin1", "x", r.admin), protocol.BadRequest, `the charset "latin1" of the text is not supported`},
		"nothing":        {upload(protocol.MimePNG, "", r.admin), protocol.BadRequest, "body is required"},
		"another method": {call{method: "GET", path: protocol.BlobsPath, token: r.admin}, protocol.NotFound, ""},
	} {
		if p := r.problem(test.call); p.Code != test.code || !strings.Contains(p.Detail, test.want) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	r.Fail(store.ErrFull)
	if p := r.problem(upload(protocol.MimePNG, png, r.admin)); p.Code != protocol.Internal {
		t.Errorf("a store that fails: %+v", p)
	}
}

func TestUploadIsBounded(t *testing.T) {
	t.Parallel()
	r := start(t)
	whole := files[protocol.MimePDF] + strings.Repeat("x", protocol.MaxBlob-len(files[protocol.MimePDF]))
	if got := get[protocol.Blob](r, upload(protocol.MimePDF, whole, "")); got.Bytes != protocol.MaxBlob {
		t.Errorf("%+v", got)
	}
	if p := r.refused(upload(protocol.MimePDF, whole+"x", "")); p.Code != protocol.TooLarge || !strings.Contains(p.Detail, "20971520") {
		t.Errorf("%+v", p)
	}
	// One that does not say how long it is.
	body, end := io.Pipe()
	go func() {
		_, err := io.WriteString(end, whole+"x")
		end.CloseWithError(err)
	}()
	request, err := http.NewRequestWithContext(t.Context(), "POST", r.url+protocol.BlobsPath, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", protocol.MimePDF)
	request.Header.Set("Authorization", "Bearer "+r.admin)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("answered %d", response.StatusCode)
	}
	// Other routes stay as narrow as they were.
	if p := r.refused(call{method: "POST", path: "/v1/sessions", body: strings.Repeat(" ", protocol.MaxFrame+1)}); p.Code != protocol.TooLarge || !strings.Contains(p.Detail, "1048576") {
		t.Errorf("%+v", p)
	}
}

// Files that are being sent take the places there are; the next one is told to come
// again, and may when one of them has ended.
func TestUploadsAreFew(t *testing.T) {
	t.Parallel()
	r := start(t)
	type slow struct {
		body   *io.PipeWriter
		status chan int
	}
	var sending []slow
	for range 4 {
		body, end := io.Pipe()
		request, err := http.NewRequestWithContext(t.Context(), "POST", r.url+protocol.BlobsPath, body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", protocol.MimeText)
		request.Header.Set("Authorization", "Bearer "+r.admin)
		request.Header.Set("Expect", "100-continue") // so the body is sent when the server reads it
		status := make(chan int, 1)
		go func() {
			response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true, ExpectContinueTimeout: patience}}).Do(request)
			if err != nil {
				status <- 0
				return
			}
			response.Body.Close()
			status <- response.StatusCode
		}()
		if _, err := io.WriteString(end, "text"); err != nil {
			t.Fatal(err)
		}
		sending = append(sending, slow{end, status})
	}
	full := func() bool {
		status, _, answer := r.do(upload(protocol.MimeText, "one more", r.admin))
		var p protocol.Problem
		if status == http.StatusCreated {
			return false
		}
		if err := json.Unmarshal(answer, &p); err != nil || p.Code != protocol.Busy || !p.Retryable {
			t.Fatalf("%d %s", status, answer)
		}
		return true
	}
	if !full() {
		t.Error("a fifth file is taken")
	}
	for _, one := range sending {
		one.body.Close()
		if status := <-one.status; status != http.StatusCreated {
			t.Errorf("a slow one answered %d", status)
		}
	}
	for end := time.Now().Add(patience); full(); { // the places are given back after the answers
		if time.Now().After(end) {
			t.Fatal("busy for ever")
		}
	}
}
