package plugin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plinthhost/plinth/host/egress"
)

// internet resolves a few names, and leads every connection to one server.
type internet struct{ server *httptest.Server }

func (internet) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	address, ok := map[string]string{
		"plugins.example.com": "93.184.215.14", "cdn.example.com": "93.184.215.15", "inside.example.com": "10.1.2.3", "meta.example.com": "169.254.169.254",
	}[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr(address)}, nil
}

func (i internet) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, i.server.Listener.Addr().String())
}

// network is an operator's, with a server behind every address.
func (i internet) network(t *testing.T, private ...netip.Prefix) *egress.Network {
	t.Helper()
	options := egress.NetworkOptions{Resolver: i, Dial: i.dial, Private: private}
	if certificate := i.server.Certificate(); certificate != nil {
		options.Roots = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
	}
	network, err := egress.NewNetwork(options)
	if err != nil {
		t.Fatal(err)
	}
	return network
}

// plugins serves a plugin at /p.wasm, other things beside it, and redirects to the
// address after /to/, or so many times to itself.
func plugins(module []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/p.wasm", path == "/p@1.0/p.wasm":
			_, _ = w.Write(module)
		case path == "/bare.wasm":
			_, _ = w.Write(saying("x").Bytes())
		case path == "/page":
			_, _ = w.Write([]byte("<!DOCTYPE html><p>Sign in"))
		case path == "/full":
			_, _ = w.Write(append(bytes.Clone(module), make([]byte, MaxDownloadBytes-len(module))...))
		case path == "/large":
			_, _ = w.Write(append(bytes.Clone(module), make([]byte, MaxDownloadBytes)...))
		case strings.HasPrefix(path, "/to/"):
			w.Header().Set("Location", r.URL.Query().Get("url"))
			w.WriteHeader(http.StatusFound)
		case strings.HasPrefix(path, "/hops/"):
			left, err := strconv.Atoi(strings.TrimPrefix(path, "/hops/"))
			next := "/hops/" + strconv.Itoa(left-1)
			if err != nil || left <= 1 {
				next = "/p.wasm"
			}
			http.Redirect(w, r, next, http.StatusTemporaryRedirect)
		default:
			http.NotFound(w, r)
		}
	}
}

func TestDownload(t *testing.T) {
	module := saying("x").Packed(manifest("acme/packed", toolTable("a")))
	net := internet{httptest.NewTLSServer(plugins(module))}
	t.Cleanup(net.server.Close)
	sum := sha256.Sum256(module)
	hash, wrong := hex.EncodeToString(sum[:]), strings.Repeat("ab", sha256.Size)
	to := func(url string) string { return "https://plugins.example.com/to/?url=" + url }
	local := net.server.URL
	for _, test := range []struct{ name, url, want string }{
		{"a plugin", "https://plugins.example.com/p.wasm", ""},
		{"with its hash", "https://plugins.example.com/p.wasm#sha256=" + hash, ""},
		{"with its hash in capitals", "https://plugins.example.com/p.wasm#sha256=" + strings.ToUpper(hash), ""},
		{"five redirects", "https://plugins.example.com/hops/5", ""},
		{"a redirect to another host", to("https://cdn.example.com/p.wasm"), ""},
		{"an address by itself", local + "/p.wasm", ""},
		{"another hash", "https://plugins.example.com/p.wasm#sha256=" + wrong, "https://plugins.example.com/p.wasm: the file has the SHA-256 " + hash + " and not " + wrong + "; it is not the one that was meant, so it is not used"},
		{"half a hash", "https://plugins.example.com/p.wasm#sha256=abcd", "what follows # must be sha256= and 64 hexadecimal digits"},
		{"another fragment", "https://plugins.example.com/p.wasm#v2", "what follows # must be sha256= and 64 hexadecimal digits"},
		{"six redirects", "https://plugins.example.com/hops/6", "https://plugins.example.com redirects once more after 5 redirects, the limit; give the address that it ends at"},
		{"a redirect to http", to("http://cdn.example.com/p.wasm"), "redirects to http://cdn.example.com, which is not https"},
		{"a redirect to this machine", to(local + "/p.wasm"), "after 1 redirects: " + local + " is not granted, and nobody is asked about such an address (loopback); give the last address itself"},
		{"a redirect to localhost", to("https://localhost/p.wasm"), "(loopback)"},
		{"a redirect inside", to("https://inside.example.com/p.wasm"), "inside.example.com leads to 10.1.2.3 (private); give the last address itself, or list its network under network.private"},
		{"a redirect to a password", to("https://me:pass@cdn.example.com/p.wasm"), "must not hold a user name or password"},
		{"inside", "https://inside.example.com/p.wasm", "inside.example.com leads to 10.1.2.3 (private); list its network under network.private if it is yours"},
		{"metadata", "https://meta.example.com/p.wasm", "(cloud metadata)"},
		{"nobody", "https://nobody.example.com/p.wasm", `the host "nobody.example.com" of https://nobody.example.com is not known`},
		{"http", "http://plugins.example.com/p.wasm", "http://plugins.example.com/p.wasm: plugins are downloaded over https only; http is for this machine's own addresses"},
		{"another scheme", "ftp://plugins.example.com/p.wasm", "must begin with https:// or http://"},
		{"a password", "https://me:pass@plugins.example.com/p.wasm", "https://…@plugins.example.com/p.wasm: the URL must not hold a user name or password"},
		{"not there", "https://plugins.example.com/none?token=secret", "https://plugins.example.com/none: https://plugins.example.com answers 404 Not Found; is the address right, and is it open to all?"},
		{"a page", "https://plugins.example.com/page", "what is there is no WebAssembly module but text/html; charset=utf-8; give the address of the file itself"},
		{"no manifest", "https://plugins.example.com/bare.wasm", `https://plugins.example.com/bare.wasm: the module has no section "plinth.manifest"`},
		{"as large as may be", "https://plugins.example.com/full", "at byte"}, // it is read, and then is no module
		{"too large", "https://plugins.example.com/large", "https://plugins.example.com/large: the file is larger than 25165824 bytes, the limit of a plugin; make it smaller"},
	} {
		t.Run(test.name, func(t *testing.T) {
			candidate, err := Download(t.Context(), net.network(t), test.url)
			if test.want == "" && (err != nil || candidate.Manifest.ID != "acme/packed" || !bytes.Equal(candidate.Wasm, module) || candidate.Builtin) {
				t.Fatalf("%+v, %v", candidate.Manifest, err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Fatalf("got  %v\nwant %s", err, test.want)
			}
			if err != nil && (strings.Contains(err.Error(), "token=secret") || strings.Contains(err.Error(), "pass@")) {
				t.Errorf("the error tells a secret: %v", err)
			}
		})
	}
}

// TestDownloadInside: the operator's own network is reached where it is listed, by
// redirects too, and metadata never is.
func TestDownloadInside(t *testing.T) {
	module := saying("x").Packed(manifest("acme/packed", toolTable("a")))
	net := internet{httptest.NewTLSServer(plugins(module))}
	t.Cleanup(net.server.Close)
	network := net.network(t, netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"))
	for url, ok := range map[string]bool{
		"https://inside.example.com/p.wasm":                                         true,
		"https://plugins.example.com/to/?url=https://inside.example.com/p.wasm":     true,
		"https://meta.example.com/p.wasm":                                           false,
		"https://plugins.example.com/to/?url=https://meta.example.com/p.wasm":       false,
		"https://plugins.example.com/to/?url=https://127.0.0.1/p.wasm":              false,
		"https://plugins.example.com/to/?url=https://inside.example.com/to/?url=//": false,
	} {
		if _, err := Download(t.Context(), network, url); (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestDownloadHTTP takes plain http from this machine alone.
func TestDownloadHTTP(t *testing.T) {
	net := internet{httptest.NewServer(plugins(saying("x").Packed(manifest("acme/packed", toolTable("a")))))}
	t.Cleanup(net.server.Close)
	_, port, _ := strings.Cut(net.server.Listener.Addr().String(), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]"} {
		if candidate, err := Download(t.Context(), net.network(t), "http://"+host+":"+port+"/p.wasm"); err != nil || candidate.Origin != "http://"+host+":"+port+"/p.wasm" {
			t.Errorf("%s: %v", host, err)
		}
	}
	at := net.server.URL + "/p@1.0/p.wasm"
	if candidate, err := Download(t.Context(), net.network(t), at+"?token=secret"); err != nil || candidate.Origin != at {
		t.Errorf("%q: %v", candidate.Origin, err)
	}
	if _, err := Download(t.Context(), net.network(t), net.server.URL+"/hops/1"); err == nil || !strings.Contains(err.Error(), "is not https") {
		t.Errorf("a redirect on http: %v", err)
	}
}

// TestDownloadEnds: one that takes too long ends, and so does one whose caller left.
func TestDownloadEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var served sync.WaitGroup
		defer served.Wait()
		network, err := egress.NewNetwork(egress.NetworkOptions{Resolver: internet{}, Dial: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			served.Go(func() { dribble(far) })
			return near, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		// No TLS: the server is this machine.
		_, err = Download(t.Context(), network, "http://127.0.0.1/p.wasm")
		const want = "http://127.0.0.1/p.wasm: the download took more than 2m0s, the limit; download the file yourself and add it by its path"
		if err == nil || err.Error() != want {
			t.Errorf("got %v", err)
		}
		left := errors.New("the user left")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(left)
		if _, err = Download(ctx, network, "http://127.0.0.1/p.wasm"); !errors.Is(err, left) {
			t.Errorf("got %v", err)
		}
	})
}

func TestIsURL(t *testing.T) {
	for source, want := range map[string]bool{
		"https://x.example/p.wasm": true, "http://127.0.0.1/p": true, "ftp://x/p": true,
		"./p.wasm": false, "/a/b://c": false, "plugins/a": false, "../x://y": false, "": false,
	} {
		if got := IsURL(source); got != want {
			t.Errorf("%q: %v", source, got)
		}
	}
}

// dribble answers fast enough for every watchdog and never ends.
func dribble(conn net.Conn) {
	defer conn.Close()
	request := make([]byte, 4096)
	if _, err := conn.Read(request); err != nil {
		return
	}
	if _, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"); err != nil {
		return
	}
	for {
		if _, err := conn.Write(make([]byte, 1000)); err != nil {
			return
		}
		<-time.After(time.Second)
	}
}
