package server_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/host/server/servertest"
)

// overSocket makes one request over the unix socket, without a token.
func overSocket(t *testing.T, socket, host, path string) int {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	request, err := http.NewRequestWithContext(t.Context(), "GET", "http://localhost"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	response, err := (&http.Client{Transport: transport, Timeout: patience}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

func TestSocket(t *testing.T) {
	t.Parallel()
	r := start(t)
	socket, err := os.Stat(r.socket)
	if err != nil || socket.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v, %v", socket.Mode(), err)
	}
	folder, err := os.Stat(filepath.Dir(r.socket))
	if err != nil || folder.Mode().Perm() != 0o700 {
		t.Errorf("folder: %v, %v", folder.Mode(), err)
	}
	if status := overSocket(t, r.socket, "localhost", "/v1/tokens"); status != 200 {
		t.Errorf("the owner answered %d", status)
	}
	if status := overSocket(t, r.socket, "evil.example", "/v1/tokens"); status != 403 {
		t.Errorf("another host name answered %d", status)
	}
}

func TestSocketPlaces(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "plinth")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	open := func(socket string) error {
		s, err := server.New(server.Options{Socket: socket}, servertest.New().Backend())
		if err != nil {
			return err
		}
		defer s.Close()
		return s.Start(t.Context())
	}
	fails := func(name, socket, text string) {
		t.Helper()
		if err := open(socket); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %q", name, err, text)
		}
	}
	fails("a long path", filepath.Join(folder, strings.Repeat("x", 100)), "103")
	shared := filepath.Join(folder, "shared")
	if err := os.Mkdir(shared, 0o755); err != nil {
		t.Fatal(err)
	}
	fails("a folder others can read", filepath.Join(shared, "s"), "chmod 700")
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fails("a file in its place", file, "no socket")

	stale := filepath.Join(folder, "stale")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	fails("a served socket", stale, "another server")
	listener.Close()
	if err := open(stale); err != nil {
		t.Errorf("a socket nobody serves: %v", err)
	}
	if _, err := os.Lstat(stale); err == nil {
		t.Error("the socket stays after Close")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options server.Options
		text    string // of the error; empty for none
	}{
		"nothing":    {server.Options{}, "neither"},
		"loopback":   {server.Options{Listen: "127.0.0.1:0"}, ""},
		"localhost":  {server.Options{Listen: "localhost:0"}, ""},
		"loopback 6": {server.Options{Listen: "[::1]:0"}, ""},
		"any":        {server.Options{Listen: "0.0.0.0:4747"}, "TLS"},
		"any 6":      {server.Options{Listen: "[::]:4747"}, "TLS"},
		"every":      {server.Options{Listen: ":4747"}, "TLS"},
		"name":       {server.Options{Listen: "box.example:4747"}, "TLS"},
		"explicit":   {server.Options{Listen: "0.0.0.0:4747", AllowRemote: true}, ""},
		"no port":    {server.Options{Listen: "127.0.0.1"}, "host:port"},
		"origin":     {server.Options{Socket: "/x", AllowedOrigins: []string{"https://a.example/path"}}, "scheme://host"},
		"no scheme":  {server.Options{Socket: "/x", AllowedOrigins: []string{"a.example"}}, "scheme://host"},
	} {
		s, err := server.New(test.options, servertest.New().Backend())
		switch {
		case test.text == "" && err != nil, test.text != "" && (err == nil || !strings.Contains(err.Error(), test.text)):
			t.Errorf("%s: %v, want %q", name, err, test.text)
		case err == nil:
			s.Close()
		}
	}
}

// TestOneAddressTaken: when one listener cannot open, none stays.
func TestOneAddressTaken(t *testing.T) {
	t.Parallel()
	r := start(t)
	socket := r.socket + "2"
	s, err := server.New(server.Options{Listen: r.server.Addr().String(), Socket: socket}, r.Backend())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Start(t.Context()); err == nil {
		t.Fatal("the address was taken twice")
	}
	if _, err := os.Lstat(socket); err == nil {
		t.Error("the socket stays")
	}
}
