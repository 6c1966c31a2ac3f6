package egress

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/secret"
)

const key = "sk-test-0123456789/+="

// serve starts a server for one test.
func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// connect makes a client for one test.
func connect(t *testing.T, options Options) *Client {
	t.Helper()
	client, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func withKey(context.Context) (secret.Value, error) { return secret.NewValue(key), nil }

func wantKind(t *testing.T, err error, kind Kind, texts ...string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want an *Error", err, err)
	}
	if e.Kind != kind {
		t.Errorf("kind %s (%v), want %s", e.Kind, e, kind)
	}
	for _, text := range texts {
		if !strings.Contains(e.Text, text) {
			t.Errorf("%q has no %q", e.Text, text)
		}
	}
	if strings.Contains(err.Error(), key) {
		t.Errorf("the error shows the secret: %v", err)
	}
}

func TestDo(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization"))
		w.Header().Set("Set-Cookie", "id=1")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s", data, r.Header.Get("X-Mine"), r.Header.Get("User-Agent"))
	})
	client := connect(t, Options{
		BaseURL: server.URL + "/v1/", Secret: withKey,
		Auth: Auth{Kind: "header", Name: "authorization", Value: "Bearer {secret}"},
	})
	response, err := client.Do(t.Context(), Request{
		Method: "POST", Path: "/chat/completions", Query: map[string]string{"a": "1 2"},
		Headers: map[string]string{"x-mine": "yes"}, Body: []byte("hello"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	seen := []string{fmt.Sprint(response.Status), string(got), response.Headers.Get("X-Seen"), response.Headers.Get("Set-Cookie")}
	want := []string{"418", "hello yes plinth", "POST /v1/chat/completions?a=1+2 Bearer [secret]", ""}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

func TestSecretReachesTheServer(t *testing.T) {
	var got string
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("X-Api-Key") + r.URL.Query().Get("key")
	})
	for _, auth := range []Auth{{Kind: "header", Name: "x-api-key"}, {Kind: "query", Name: "key"}} {
		got = ""
		client := connect(t, Options{BaseURL: server.URL, Auth: auth, Secret: withKey})
		finish(t, client, Request{Method: "GET", Query: map[string]string{"other": "x"}})
		if got != key {
			t.Errorf("%s: the server saw %q", auth.Kind, got)
		}
	}
	got = ""
	finish(t, connect(t, Options{BaseURL: server.URL, Auth: Auth{Kind: "header", Name: "x-api-key"}}), Request{Method: "GET"})
	if got != "" {
		t.Errorf("without a secret the server saw %q", got)
	}
}

// finish makes a request and reads the whole answer.
func finish(t *testing.T, client *Client, request Request) *Response {
	t.Helper()
	response, err := client.Do(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return response
}

func TestConnectionsAreKept(t *testing.T) {
	remotes := map[string]bool{}
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) { remotes[r.RemoteAddr] = true })
	client := connect(t, Options{BaseURL: server.URL})
	for range 5 {
		finish(t, client, Request{Method: "POST", Body: []byte("x")})
	}
	if len(remotes) != 1 {
		t.Errorf("%d connections for 5 requests", len(remotes))
	}
}

func TestRedirectsAndProxiesAreNotFollowed(t *testing.T) {
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect or the proxy was followed") })
	t.Setenv("HTTP_PROXY", elsewhere.URL)
	t.Setenv("http_proxy", elsewhere.URL)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) })
	client := connect(t, Options{BaseURL: server.URL, Secret: withKey, Auth: Auth{Kind: "header", Name: "x-api-key"}})
	if response := finish(t, client, Request{Method: "GET"}); response.Status != http.StatusFound {
		t.Errorf("status %d", response.Status)
	}
}

func TestFailures(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing := closed.Addr().String()
	closed.Close()
	released := make(chan struct{})
	defer close(released)
	silent := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-released:
		case <-r.Context().Done():
		}
	})
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = quiet()
	t.Cleanup(untrusted.Close)
	hangup := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.Close()
	})
	nonsense := listen(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = io.WriteString(conn, "HTTP/1.1 "+key+" x\r\n\r\n")
	})
	mute := listen(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })

	for name, test := range map[string]struct {
		base  string
		kind  Kind
		texts []string
	}{
		"refused":        {"http://" + refusing, KindRefused, []string{"connection to http://" + refusing + " refused; is the server running?"}},
		"no such host":   {"http://plinth.invalid", KindDNS, []string{`"plinth.invalid"`}},
		"no answer":      {silent.URL, KindTimeoutFirstByte, []string{"did not begin to answer within 40ms"}},
		"TLS to plain":   {strings.Replace(plain.URL, "http:", "https:", 1), KindTLS, []string{"http://?"}},
		"untrusted":      {untrusted.URL, KindTLS, []string{"not trusted"}},
		"mute handshake": {"https://" + mute, KindTimeoutConnect, []string{"handshake", "took more than 50ms"}},
		"hang up":        {hangup.URL, KindReset, []string{"broke off"}},
		"not HTTP":       {"http://" + nonsense, KindFailed, []string{"failed", "[secret]"}},
	} {
		t.Run(name, func(t *testing.T) {
			options := Options{BaseURL: test.base}
			switch test.kind {
			case KindTimeoutConnect:
				options.Timeouts.Connect = 50 * time.Millisecond
			case KindTimeoutFirstByte:
				options.Timeouts.FirstByte = 40 * time.Millisecond
			}
			if name == "not HTTP" {
				options.Secret, options.Auth = withKey, Auth{Kind: "header", Name: "x-api-key"}
			}
			response, err := connect(t, options).Do(t.Context(), Request{Method: "POST", Body: []byte("{}")})
			if err == nil {
				response.Body.Close()
				t.Fatal("no error")
			}
			wantKind(t, err, test.kind, test.texts...)
		})
	}
}

// listen starts a server of bare connections, one goroutine for all.
func listen(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			handle(conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() { listener.Close(); <-done })
	return listener.Addr().String()
}

// network makes one for a test.
func network(t *testing.T, options NetworkOptions) *Network {
	t.Helper()
	n, err := NewNetwork(options)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestConnectTimeout(t *testing.T) {
	blocked := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	client := connect(t, Options{BaseURL: "http://192.0.2.1", Timeouts: Timeouts{Connect: 20 * time.Millisecond}, Network: network(t, NetworkOptions{Dial: blocked})})
	_, err := client.Do(t.Context(), Request{Method: "GET"})
	wantKind(t, err, KindTimeoutConnect, "no connection to http://192.0.2.1 within 20ms")
}

// TestLocalhostIsThisMachine: no resolver is asked, so none can say otherwise.
func TestLocalhostIsThisMachine(t *testing.T) {
	var dialled []string
	client := connect(t, Options{BaseURL: "http://localhost:81", Auth: Auth{Kind: "header", Name: "x-api-key"}, Secret: withKey, Network: network(t, NetworkOptions{
		Resolver: names{},
		Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			dialled = append(dialled, address)
			return nil, syscall.ECONNREFUSED
		},
	})})
	_, err := client.Do(t.Context(), Request{Method: "GET"})
	wantKind(t, err, KindRefused)
	if diff := cmp.Diff([]string{"127.0.0.1:81", "[::1]:81"}, dialled); diff != "" {
		t.Error(diff)
	}
}

func TestBodyFailures(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/large" {
			w.Header().Set("Content-Encoding", "gzip")
			zip := gzip.NewWriter(w)
			_, _ = zip.Write(make([]byte, 1<<20))
			_ = zip.Close()
			return
		}
		_, _ = io.WriteString(w, "start")
		w.(http.Flusher).Flush()
		if r.URL.Path == "/cut" {
			panic(http.ErrAbortHandler)
		}
		<-r.Context().Done()
	})
	for path, test := range map[string]struct {
		kind Kind
		text string
		read int
	}{
		"idle":  {KindTimeoutIdle, "sent nothing more for 40ms", 5},
		"cut":   {KindReset, "broke off", 5},
		"large": {KindTooLarge, "larger than 1000 bytes", 1000},
	} {
		client := connect(t, Options{BaseURL: server.URL, Timeouts: Timeouts{Idle: 40 * time.Millisecond}, Limits: Limits{Body: 1000}})
		response, err := client.Do(t.Context(), Request{Method: "GET", Path: path})
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(response.Body)
		wantKind(t, err, test.kind, test.text)
		if len(data) != test.read {
			t.Errorf("%s: %d bytes before the error", path, len(data))
		}
		if _, again := response.Body.Read(make([]byte, 1)); again != err {
			t.Errorf("%s: the second error is %v", path, again)
		}
		response.Body.Close()
	}
}

// TestSlowReaderIsNotIdle: time the caller takes between reads does not count, on
// the clock of a bubble.
func TestSlowReaderIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := connect(t, Options{BaseURL: "http://127.0.0.1", Timeouts: Timeouts{Idle: time.Second}, Limits: Limits{Rate: 1},
			Network: network(t, NetworkOptions{Dial: piped(t, func(conn net.Conn) {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab")
			})})})
		response, err := client.Do(t.Context(), Request{Method: "GET"})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []error{nil, nil, io.EOF} {
			if _, err := response.Body.Read(make([]byte, 1)); err != want {
				t.Fatalf("%v, want %v", err, want)
			}
			time.Sleep(time.Minute) // the caller is busy with what it read
		}
		response.Body.Close()
	})
}

// piped dials a server of one goroutine that reads a request and then answers it by
// handle, in memory, so that a bubble's clock holds.
func piped(t *testing.T, handle func(net.Conn)) dialer {
	t.Helper()
	var served sync.WaitGroup
	t.Cleanup(served.Wait)
	return func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		served.Go(func() {
			defer far.Close()
			request, err := http.ReadRequest(bufio.NewReader(far))
			if err == nil {
				_, err = io.Copy(io.Discard, request.Body)
			}
			if err != nil {
				return
			}
			handle(far)
		})
		return near, nil
	}
}

func TestCancel(t *testing.T) {
	arrived := make(chan struct{}, 2)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
		}
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	reason := errors.New("interrupted by the user")
	client := connect(t, Options{BaseURL: server.URL})

	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-arrived; cancel(reason) }()
	if _, err := client.Do(ctx, Request{Method: "GET", Path: "headers"}); !errors.Is(err, reason) {
		t.Errorf("while waiting: %v", err)
	}

	ctx, cancel = context.WithCancelCause(t.Context())
	response, err := client.Do(ctx, Request{Method: "GET", Path: "body"})
	if err != nil {
		t.Fatal(err)
	}
	go func() { <-arrived; cancel(reason) }()
	if _, err := response.Body.Read(make([]byte, 1)); !errors.Is(err, reason) {
		t.Errorf("while reading: %v", err)
	}
	response.Body.Close()
	response.Body.Close()
	if err := errors.Join(client.Close(), client.Close()); err != nil {
		t.Error(err)
	}
}

func TestSecretThatCannotBeHad(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request without its secret arrived") })
	for text, get := range map[string]func(context.Context) (secret.Value, error){
		"variable X is not set": func(context.Context) (secret.Value, error) {
			return secret.Value{}, errors.New("variable X is not set")
		},
		"a header cannot carry": func(context.Context) (secret.Value, error) { return secret.NewValue(key + "\r\nEvil: 1"), nil },
	} {
		client := connect(t, Options{BaseURL: server.URL, Auth: Auth{Kind: "header", Name: "x-api-key"}, Secret: get})
		_, err := client.Do(t.Context(), Request{Method: "GET"})
		wantKind(t, err, KindSecret, text)
	}
}
