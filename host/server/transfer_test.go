package server_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server/servertest"
)

func importing(body, token string) call {
	return call{method: "POST", path: protocol.ImportPath, body: body, token: token, header: map[string]string{"Content-Type": protocol.MimeBundle}}
}

func TestDownloads(t *testing.T) {
	t.Parallel()
	r := start(t)
	read, write := r.token(protocol.ScopeRead), r.token(protocol.ScopeWrite)
	session := get[protocol.Session](r, call{method: "POST", path: "/v1/sessions", body: `{}`}).ID
	for _, test := range []struct{ path, kind, body string }{
		{"/export", protocol.MimeBundle, session + " children=false\n"},
		{"/export?children=true", protocol.MimeBundle, session + " children=true\n"},
		{"/share", "text/html; charset=utf-8", session + " html reasoning=false\n"},
		{"/share?format=markdown&reasoning=true", "text/markdown; charset=utf-8", session + " markdown reasoning=true\n"},
		{"/share?format=json", "application/json", session + " json reasoning=false\n"},
	} {
		status, header, body := r.do(call{method: "GET", path: "/v1/sessions/" + session + test.path, token: read})
		if status != http.StatusOK || string(body) != test.body || header.Get("Content-Type") != test.kind {
			t.Errorf("%s answered %d %s %q", test.path, status, header.Get("Content-Type"), body)
		}
		if strings.HasPrefix(test.path, "/share") && (header.Get("Content-Disposition") != "attachment" || !strings.HasPrefix(header.Get("Content-Security-Policy"), "sandbox; default-src 'none'")) {
			t.Errorf("%s has the header %v", test.path, header)
		}
		if status, _, _ := r.do(call{method: "GET", path: "/v1/sessions/" + session + test.path, token: write}); status != http.StatusForbidden {
			t.Errorf("%s without the scope answered %d", test.path, status)
		}
	}
	for path, want := range map[string]int{"/v1/sessions/ses_none/export": 404, "/v1/sessions/ses_none/share": 404, "/v1/sessions/" + session + "/share?format=pdf": 400} {
		if status, _, body := r.do(call{method: "GET", path: path, token: r.admin}); status != want {
			t.Errorf("%s answered %d %s", path, status, body)
		}
	}
}

// TestADownloadThatBreaksOff is no whole answer to anybody.
func TestADownloadThatBreaksOff(t *testing.T) {
	t.Parallel()
	r := start(t)
	request, err := http.NewRequestWithContext(t.Context(), "GET", r.url+"/v1/sessions/"+servertest.BrokenSession+"/export", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+r.admin)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err == nil {
		_, err = io.ReadAll(response.Body)
		response.Body.Close()
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		t.Errorf("error %v", err)
	}
}

func TestImport(t *testing.T) {
	t.Parallel()
	r := start(t)
	large := strings.Repeat("x", protocol.MaxBlob+protocol.MaxFrame) // more than other bodies may have
	status, _, body := r.do(importing(large, r.admin))
	var result protocol.ImportResult
	if err := json.Unmarshal(body, &result); err != nil || status != http.StatusOK || result.Sessions[0].Events != int64(len(large)) {
		t.Errorf("answered %d %.200s, %v", status, body, err)
	}
	for name, test := range map[string]struct {
		call call
		want int
	}{
		"without the scope": {importing("x", r.token(protocol.ScopeRead, protocol.ScopeWrite, protocol.ScopeApprove)), http.StatusForbidden},
		"another type":      {call{method: "POST", path: protocol.ImportPath, body: "{}", token: r.admin}, http.StatusBadRequest},
	} {
		if status, _, body := r.do(test.call); status != test.want {
			t.Errorf("%s answered %d %s", name, status, body)
		}
	}
}

func TestOneImportAtATime(t *testing.T) {
	t.Parallel()
	r := start(t)
	reading, writing := io.Pipe()
	first := make(chan error, 1)
	request, err := http.NewRequestWithContext(t.Context(), "POST", r.url+protocol.ImportPath, reading)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+r.admin)
	request.Header.Set("Content-Type", protocol.MimeBundle)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	go func() {
		response, err := client.Do(request)
		if err == nil {
			err = response.Body.Close()
		}
		first <- err
	}()
	if _, err := writing.Write([]byte("begun")); err != nil { // it is taken up once somebody reads
		t.Fatal(err)
	}
	busy := false
	for range 1000 {
		status, _, _ := r.do(importing("x", r.admin))
		if busy = status == http.StatusServiceUnavailable; busy {
			break
		}
	}
	if !busy {
		t.Error("a second import was never busy")
	}
	writing.Close()
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestBackup(t *testing.T) {
	t.Parallel()
	r := start(t)
	backup := get[protocol.Backup](r, call{method: "POST", path: "/v1/host/backup", body: `{"folder":"/backups/today"}`})
	if backup.Folder != "/backups/today" || backup.Log != "log_memory" {
		t.Errorf("backup %+v", backup)
	}
	if status, _, _ := r.do(call{method: "POST", path: "/v1/host/backup", body: `{"folder":"/b"}`, token: r.token(protocol.ScopeWrite)}); status != http.StatusForbidden {
		t.Errorf("without the scope it answered %d", status)
	}
}
