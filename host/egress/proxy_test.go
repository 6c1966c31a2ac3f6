package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/secret"
)

// relay is a proxy that connects every tunnel to one address, and notes for which
// target and with whose word.
type relay struct {
	to   string
	mu   sync.Mutex
	asks []string
}

func (r *relay) note(ask string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asks = append(r.asks, ask)
}

func (r *relay) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asks := r.asks
	r.asks = nil
	return asks
}

func (r *relay) pump(conn net.Conn, reader io.Reader) {
	far, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	var group sync.WaitGroup
	group.Go(func() { _, _ = io.Copy(far, reader); far.(*net.TCPConn).CloseWrite() })
	_, _ = io.Copy(conn, far)
	conn.Close()
	group.Wait()
	far.Close()
}

// serveHTTP is an HTTP proxy. Targets at port 9 it refuses.
func (r *relay) serveHTTP(conn net.Conn) {
	reader := bufio.NewReader(conn)
	request, err := http.ReadRequest(reader)
	if err != nil {
		return
	}
	r.note(request.Method + " " + request.RequestURI + " " + request.Host + " " + request.Header.Get("Proxy-Authorization"))
	switch _, port, _ := strings.Cut(request.Host, ":"); port {
	case "9":
		_, _ = io.WriteString(conn, "HTTP/1.1 403 Forbidden\r\n\r\n")
	case "10":
		_, _ = io.WriteString(conn, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
	case "11":
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 20<<10))
	case "12":
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n")
	case "13":
		_, _ = io.WriteString(conn, "SSH-2.0\r\n")
	default:
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		r.pump(conn, reader)
	}
}

// serveSOCKS is a SOCKS proxy that knows one user. Port 9 it refuses.
func (r *relay) serveSOCKS(conn net.Conn) {
	read := func(n int) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(conn, b)
		return b
	}
	who := ""
	methods := read(int(read(2)[1]))
	if slices.Contains(methods, 2) {
		_, _ = conn.Write([]byte{5, 2})
		user := read(int(read(2)[1]))
		who = string(user) + ":" + string(read(int(read(1)[0])))
		if who != "user:proxy-password" {
			_, _ = conn.Write([]byte{1, 1})
			return
		}
		_, _ = conn.Write([]byte{1, 0})
	} else {
		_, _ = conn.Write([]byte{5, 0})
	}
	target := ""
	switch head := read(4); head[3] {
	case 1:
		target = net.IP(read(4)).String()
	case 3:
		target = string(read(int(read(1)[0])))
	case 4:
		target = net.IP(read(16)).String()
	}
	port := binary.BigEndian.Uint16(read(2))
	r.note(fmt.Sprint(net.JoinHostPort(target, fmt.Sprint(port)), " ", who))
	reply := byte(0)
	if port == 9 {
		reply = 2
	}
	_, _ = conn.Write([]byte{5, reply, 0, 3, 2, 'a', 'b', 0, 0})
	if reply == 0 {
		r.pump(conn, conn)
	}
}

// relaying serves each connection on its own and answers the address.
func relaying(t *testing.T, serve func(net.Conn), wrap func(net.Listener) net.Listener) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if wrap != nil {
		listener = wrap(listener)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() { defer conn.Close(); serve(conn) })
		}
	})
	t.Cleanup(func() { listener.Close(); group.Wait() })
	return listener.Addr().String()
}

func tlsListener(certified *httptest.Server, inner net.Listener) net.Listener {
	return tls.NewListener(inner, &tls.Config{Certificates: certified.TLS.Certificates})
}

func proxySecret(text string) func(context.Context) (secret.Value, error) {
	return func(context.Context) (secret.Value, error) { return secret.NewValue(text), nil }
}

func TestProxies(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello "+r.Host) })
	r := &relay{to: server.Listener.Addr().String()}
	plain := relaying(t, r.serveHTTP, nil)
	socks := relaying(t, r.serveSOCKS, nil)
	other := relaying(t, func(conn net.Conn) { _, _ = io.WriteString(conn, "220 hello\r\n"); _, _ = io.Copy(io.Discard, conn) }, nil)
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	secure := relaying(t, r.serveHTTP, func(inner net.Listener) net.Listener { return tlsListener(certified, inner) })
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("user:proxy-password"))
	resolver := names{"api.example": outerAddress, "six.example": "2606:2800::1", "inner.example": "10.0.0.1"}

	for name, test := range map[string]struct {
		proxy Proxy
		url   string
		asks  string
		fails string
	}{
		"http":              {Proxy{URL: "http://" + plain}, "http://api.example/", "CONNECT " + outerAddress + ":80 " + outerAddress + ":80 ", ""},
		"http with secret":  {Proxy{URL: "http://" + plain, Secret: proxySecret("user:proxy-password")}, "http://api.example/", "CONNECT " + outerAddress + ":80 " + outerAddress + ":80 " + basic, ""},
		"IPv6":              {Proxy{URL: "http://" + plain}, "http://six.example/", "CONNECT [2606:2800::1]:80 [2606:2800::1]:80 ", ""},
		"names":             {Proxy{URL: "http://" + plain, Names: true}, "http://unresolved.example/", "CONNECT unresolved.example:80 unresolved.example:80 ", ""},
		"https":             {Proxy{URL: "https://" + secure}, "http://api.example/", "CONNECT " + outerAddress + ":80 " + outerAddress + ":80 ", ""},
		"socks":             {Proxy{URL: "socks5://" + socks}, "http://api.example/", outerAddress + ":80 ", ""},
		"socks with secret": {Proxy{URL: "socks5://" + socks, Secret: proxySecret("user:proxy-password")}, "http://six.example/", "[2606:2800::1]:80 user:proxy-password", ""},
		"socks names":       {Proxy{URL: "socks5://" + socks, Names: true}, "http://unresolved.example/", "unresolved.example:80 ", ""},

		"inner name":            {Proxy{URL: "http://" + plain}, "http://inner.example/", "", "leads to 10.0.0.1 (private)"},
		"unknown name":          {Proxy{URL: "http://" + plain}, "http://unresolved.example/", "", "is not known"},
		"refused":               {Proxy{URL: "http://" + plain}, "http://api.example:9/", "CONNECT " + outerAddress + ":9 " + outerAddress + ":9 ", "it answers 403"},
		"secret wanted":         {Proxy{URL: "http://" + plain}, "http://api.example:10/", "CONNECT " + outerAddress + ":10 " + outerAddress + ":10 ", "is its secret right?"},
		"flood":                 {Proxy{URL: "http://" + plain}, "http://api.example:11/", "CONNECT " + outerAddress + ":11 " + outerAddress + ":11 ", "more than 16384 bytes"},
		"speaks first":          {Proxy{URL: "http://" + plain}, "http://api.example:12/", "CONNECT " + outerAddress + ":12 " + outerAddress + ":12 ", "speaks before it is asked"},
		"no proxy":              {Proxy{URL: "http://" + plain}, "http://api.example:13/", "CONNECT " + outerAddress + ":13 " + outerAddress + ":13 ", "is not HTTP"},
		"socks refused":         {Proxy{URL: "socks5://" + socks}, "http://api.example:9/", outerAddress + ":9 ", "its rules forbid it"},
		"socks wrong secret":    {Proxy{URL: "socks5://" + socks, Secret: proxySecret("user:wrong-password")}, "http://api.example/", "", "it refuses the user"},
		"socks of another sort": {Proxy{URL: "socks5://" + other}, "http://api.example/", "", "does not speak SOCKS 5"},
		"secret of one part":    {Proxy{URL: "http://" + plain, Secret: proxySecret("password")}, "http://api.example/", "", "must be user:password"},
		"no secret":             {Proxy{URL: "http://" + plain, Secret: func(context.Context) (secret.Value, error) { return secret.Value{}, errors.New("X is not set") }}, "http://api.example/", "", "X is not set"},
		"nobody there":          {Proxy{URL: "http://127.0.0.1:1"}, "http://api.example/", "", "no connection to it at 127.0.0.1:1"},
		"not trusted":           {Proxy{URL: "https://localhost" + secure[strings.LastIndex(secure, ":"):]}, "http://api.example/", "", "certificate"},

		"this machine":   {Proxy{URL: "http://" + plain}, server.URL, "", ""},
		"localhost":      {Proxy{URL: "http://" + plain}, "http://localhost:1/", "", "refused"},
		"excepted":       {Proxy{URL: "http://" + plain, Except: []string{"API.example"}}, "http://api.example:1/", "", "not dialled"},
		"excepted below": {Proxy{URL: "http://" + plain, Except: []string{".example"}}, "http://api.example:1/", "", "not dialled"},
	} {
		t.Run(name, func(t *testing.T) {
			var scrubber secret.Scrubber
			n := network(t, NetworkOptions{Resolver: resolver, Proxy: &test.proxy, Roots: pemOf(certified), Scrubber: &scrubber,
				Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
					if strings.HasPrefix(address, outerAddress) {
						return nil, errors.New("not dialled")
					}
					return (&net.Dialer{}).DialContext(ctx, network, address)
				}})
			origins := []string{"http://api.example", "http://six.example", "http://unresolved.example", "http://inner.example", server.URL, "http://localhost:1"}
			for _, port := range []string{"1", "9", "10", "11", "12", "13"} {
				origins = append(origins, "http://api.example:"+port)
			}
			policy, err := NewPolicy(Grant{Origins: origins, Methods: []string{"GET"}, Paths: []string{"/"}})
			if err != nil {
				t.Fatal(err)
			}
			f, err := NewFetcher(FetcherOptions{Policy: policy, Network: n, Scrubber: &scrubber})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			fetched, err := f.Do(t.Context(), Fetch{Method: "GET", URL: test.url})
			switch {
			case test.fails == "" && (err != nil || !strings.HasPrefix(string(fetched.Body), "hello ")):
				t.Errorf("%q, %v", fetched.Body, err)
			case test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails)):
				t.Errorf("%v, want %q", err, test.fails)
			case err != nil && strings.Contains(err.Error(), "-password"):
				t.Errorf("%v shows the password", err)
			}
			want := []string{test.asks}
			if test.asks == "" {
				want = nil
			}
			if diff := cmp.Diff(want, r.taken()); diff != "" {
				t.Error(diff)
			}
			if test.proxy.Secret != nil && test.fails == "" && scrubber.Scrub("proxy-password") != "[secret]" {
				t.Error("the scrubber was not told the password")
			}
		})
	}
}

func TestProxyOptions(t *testing.T) {
	for _, text := range []string{"", "127.0.0.1:8080", "ftp://proxy", "http://user:pw@proxy", "http://proxy/path", "http://proxy?x", "http://proxy#x", "http://", "http://0x7f.1", "socks4://proxy"} {
		_, err := NewNetwork(NetworkOptions{Proxy: &Proxy{URL: text}})
		if err == nil || strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, want := range map[string]string{"http://proxy": "proxy:8080", "https://Proxy": "proxy:443", "socks5://[::1]": "[::1]:1080", "http://proxy:3128/": "proxy:3128"} {
		if n := network(t, NetworkOptions{Proxy: &Proxy{URL: text}}); n.proxy.endpoint != want {
			t.Errorf("%s: %s", text, n.proxy.endpoint)
		}
	}
	if _, err := NewNetwork(NetworkOptions{Roots: []byte("no certificate")}); err == nil {
		t.Error("what is no certificate passed")
	}
}

// TestMuteProxy: a proxy that never answers costs the connection's time, or the
// caller's patience.
func TestMuteProxy(t *testing.T) {
	heard := make(chan struct{}, 2)
	for _, scheme := range []string{"http", "https", "socks5"} {
		mute := relaying(t, func(conn net.Conn) { heard <- struct{}{}; _, _ = io.Copy(io.Discard, conn) }, nil)
		options := Options{BaseURL: "http://93.184.216.34", Timeouts: Timeouts{Connect: 50 * time.Millisecond}, Network: network(t, NetworkOptions{Proxy: &Proxy{URL: scheme + "://" + mute}})}
		_, err := connect(t, options).Do(t.Context(), Request{Method: "GET"})
		wantKind(t, err, KindTimeoutConnect, "within 50ms")
		<-heard

		options.Timeouts.Connect = time.Hour
		reason := errors.New("left")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { <-heard; cancel(reason) }()
		if _, err := connect(t, options).Do(ctx, Request{Method: "GET"}); !errors.Is(err, reason) {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

// TestRoots: a certificate counts when the operator says so.
func TestRoots(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = quiet()
	defer server.Close()
	_, err := connect(t, Options{BaseURL: server.URL}).Do(t.Context(), Request{Method: "GET"})
	wantKind(t, err, KindTLS, "not trusted")
	finish(t, connect(t, Options{BaseURL: server.URL, Network: network(t, NetworkOptions{Roots: pemOf(server)})}), Request{Method: "GET"})
}
