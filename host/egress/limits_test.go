package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func pemOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func wantLimit(t *testing.T, err error, kind Kind, limit string, texts ...string) {
	t.Helper()
	wantKind(t, err, kind, texts...)
	if e, _ := errors.AsType[*Error](err); e.Limit != limit {
		t.Errorf("%v: the limit %q, want %q", err, e.Limit, limit)
	}
}

func zipped(data []byte) []byte {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	_, _ = zip.Write(data)
	_ = zip.Close()
	return b.Bytes()
}

// TestSizes: what is too large is cut off, however it is packed.
func TestSizes(t *testing.T) {
	noise := make([]byte, 200<<10)
	_, _ = rand.Read(noise)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bomb": // a gigabyte in a megabyte, if anybody took it
			w.Header().Set("Content-Encoding", "gzip")
			zip := gzip.NewWriter(w)
			defer zip.Close()
			for range 1 << 14 {
				if _, err := zip.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		case "/empty-members": // nothing in ever more bytes
			w.Header().Set("Content-Encoding", "gzip")
			member := zipped(nil)
			for {
				if _, err := w.Write(bytes.Repeat(member, 1000)); err != nil {
					return
				}
			}
		case "/endless":
			w.Header().Set("Content-Type", "text/event-stream")
			for {
				if _, err := io.WriteString(w, "data: more\n\n"); err != nil {
					return
				}
			}
		case "/noise":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zipped(noise[:64<<10]))
		case "/lie":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "this is no gzip at all")
		case "/torn":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zipped(noise)[:100<<10])
		case "/brotli":
			w.Header().Set("Content-Encoding", "br")
		case "/twice":
			w.Header().Set("Content-Encoding", "gzip, gzip")
		}
	})
	f := fetching(t, FetcherOptions{Limits: Limits{Body: 100 << 10, RequestBody: 10}}, server)
	for path, test := range map[string]struct {
		kind  Kind
		limit string
		text  string
	}{
		"/bomb":          {KindTooLarge, "response_body", "larger than 102400 bytes"},
		"/empty-members": {KindTooLarge, "response_body", "larger than 102400 bytes as it comes"},
		"/endless":       {KindTooLarge, "response_body", "larger than 102400 bytes"},
		"/lie":           {KindFailed, "", "is said to be gzip and is not"},
		"/torn":          {KindReset, "", "ends in the middle"},
		"/brotli":        {KindFailed, "", `content encoding "br"`},
		"/twice":         {KindFailed, "", `content encoding "gzip, gzip"`},
	} {
		var sink bytes.Buffer
		_, err := f.Do(t.Context(), Fetch{Method: "GET", URL: server.URL + path, Sink: &sink})
		wantLimit(t, err, test.kind, test.limit, test.text)
		if sink.Len() > 100<<10 {
			t.Errorf("%s: %d bytes came through", path, sink.Len())
		}
	}
	fetched, err := f.Do(t.Context(), Fetch{Method: "GET", URL: server.URL + "/noise"})
	if err != nil || !bytes.Equal(fetched.Body, noise[:64<<10]) || fetched.Headers.Get("Content-Encoding") != "" || fetched.Headers.Get("Content-Length") != "" {
		t.Errorf("%v, %d bytes, %v", err, len(fetched.Body), fetched.Headers)
	}
	_, err = f.Do(t.Context(), Fetch{Method: "GET", URL: server.URL + "/noise", MaxBody: 1000})
	wantLimit(t, err, KindTooLarge, "response_body", "larger than 1000 bytes")
	if fetched, err = f.Do(t.Context(), Fetch{Method: "HEAD", URL: server.URL + "/noise"}); err != nil || fetched.Size != 0 {
		t.Errorf("HEAD: %v, %d", err, fetched.Size)
	}
	_, err = f.Do(t.Context(), Fetch{Method: "POST", URL: server.URL, Body: make([]byte, 11)})
	wantLimit(t, err, KindLimit, "request_body", "has 11 bytes, the limit is 10")
}

// TestHeaderFloods: more lines, more bytes, and answers before the answer.
func TestHeaderFloods(t *testing.T) {
	flood := listen(t, func(conn net.Conn) {
		buffer := make([]byte, 4096)
		n, _ := conn.Read(buffer)
		switch path, _, _ := strings.Cut(string(buffer[4:n]), " "); path {
		case "/lines":
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\n%sContent-Length: 0\r\n\r\n", strings.Repeat("X-A: b\r\n", 300))
		case "/bytes":
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nX-A: %s\r\nContent-Length: 0\r\n\r\n", strings.Repeat("b", 100<<10))
		case "/endless":
			_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			for err == nil {
				_, err = io.WriteString(conn, "X-A: "+strings.Repeat("b", 1000)+"\r\n")
			}
		case "/continue":
			var err error
			for err == nil {
				_, err = io.WriteString(conn, "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n")
			}
		case "/switch":
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
			_, _ = conn.Read(buffer)
		}
	})
	server := &httptest.Server{URL: "http://" + flood}
	f := fetching(t, FetcherOptions{}, server)
	for path, test := range map[string]struct {
		kind        Kind
		limit, text string
	}{
		"/lines":    {KindTooLarge, "response_headers", "has 301 headers, the limit is 256"},
		"/bytes":    {KindTooLarge, "response_header_bytes", "larger than the limit"},
		"/endless":  {KindTooLarge, "response_header_bytes", "larger than the limit"},
		"/continue": {KindTooLarge, "response_header_bytes", "larger than the limit"},
		"/switch":   {KindFailed, "", "answers 101, which was not asked for"},
	} {
		_, err := f.Do(t.Context(), Fetch{Method: "GET", URL: server.URL + path})
		wantLimit(t, err, test.kind, test.limit, test.text)
	}
}

// slowly makes a fetcher of servers in memory, for a bubble.
func slowly(t *testing.T, options FetcherOptions, handle func(net.Conn)) *Fetcher {
	t.Helper()
	policy, err := NewPolicy(Grant{Origins: []string{"http://127.0.0.1"}, Methods: []string{"GET"}, Paths: []string{"/**"}})
	if err != nil {
		t.Fatal(err)
	}
	options.Policy, options.Network = policy, network(t, NetworkOptions{Dial: piped(t, handle)})
	f, err := NewFetcher(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// drip writes a byte now and then until nobody reads.
func drip(every time.Duration, text string) func(net.Conn) {
	return func(conn net.Conn) {
		_, err := io.WriteString(conn, text)
		for err == nil {
			time.Sleep(every)
			_, err = io.WriteString(conn, "x")
		}
	}
}

// TestSlowServers: each way of not coming to an end has its bound, on the clock of
// a bubble.
func TestSlowServers(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
	for name, test := range map[string]struct {
		handle      func(net.Conn)
		options     FetcherOptions
		timeout     time.Duration
		kind        Kind
		limit, text string
		after       time.Duration
	}{
		"headers a byte a time": {drip(5*time.Second, "HTTP/1.1 200 OK\r\nX: "), FetcherOptions{}, 0, KindTimeoutFirstByte, "", "did not begin to answer within 30s", 30 * time.Second},
		"nothing at all":        {drip(time.Hour, ""), FetcherOptions{}, 0, KindTimeoutFirstByte, "", "within 30s", 30 * time.Second},
		"body a byte a time":    {drip(5*time.Second, head), FetcherOptions{}, 0, KindTooSlow, "response_rate", "less than 64 bytes a second", 10 * time.Second},
		"body stops":            {drip(time.Hour, head+"abc"), FetcherOptions{}, 0, KindTimeoutIdle, "", "sent nothing more for 30s", 30 * time.Second},
		"slow but steady": {drip(time.Second, head), FetcherOptions{Limits: Limits{Rate: -1}, Timeouts: Timeouts{Total: 90 * time.Second}}, 0,
			KindTimeoutTotal, "", "more than the 1m30s it may take altogether", 90 * time.Second},
		"guest has less time": {drip(time.Second, head), FetcherOptions{Limits: Limits{Rate: -1}}, 20 * time.Second, KindTimeoutTotal, "", "more than the 20s", 20 * time.Second},
		"one server after another": {func(conn net.Conn) {
			time.Sleep(20 * time.Second)
			_, _ = io.WriteString(conn, "HTTP/1.1 302 Found\r\nLocation: /again\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		}, FetcherOptions{Timeouts: Timeouts{Total: 50 * time.Second}}, 0, KindTimeoutTotal, "", "more than the 50s", 50 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := slowly(t, test.options, test.handle)
				started := time.Now()
				_, err := f.Do(t.Context(), Fetch{Method: "GET", URL: "http://127.0.0.1/", Timeout: test.timeout})
				wantLimit(t, err, test.kind, test.limit, test.text)
				if took := time.Since(started); took != test.after {
					t.Errorf("took %v, want %v", took, test.after)
				}
			})
		})
	}
}

// TestAskingStopsTheClock: a person may take an hour.
func TestAskingStopsTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := slowly(t, FetcherOptions{}, func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
		})
		f.policy = nil
		fetched, err := f.Do(t.Context(), Fetch{Method: "GET", URL: "http://93.184.216.34/", Ask: func(context.Context, string, Target) error {
			time.Sleep(time.Hour)
			return nil
		}})
		if err != nil || string(fetched.Body) != "ok" {
			t.Errorf("%q, %v", fetched.Body, err)
		}
	})
}

func TestRequestsPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBucket(60, 3)
		var passed []time.Duration
		started := time.Now()
		for range 60 {
			if err := b.take(); err == nil {
				passed = append(passed, time.Since(started))
			} else {
				wantLimit(t, err, KindLimit, "requests", "more than 60 requests a minute (3 at once)")
				if e, _ := errors.AsType[*Error](err); e.RetryAfter <= 0 || e.RetryAfter > time.Second {
					t.Errorf("%v", e.RetryAfter)
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		if n := len(passed); n < 8 || n > 9 || passed[2] != 200*time.Millisecond || passed[3] < time.Second-100*time.Millisecond {
			t.Errorf("%v", passed)
		}
	})
}

// TestConnectionsPerOrigin: the third waits for one of two, or in vain.
func TestConnectionsPerOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := slowly(t, FetcherOptions{Limits: Limits{Connections: 2}}, func(conn net.Conn) {
			time.Sleep(8 * time.Second)
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		})
		var group sync.WaitGroup
		results := make([]error, 5)
		for i := range results {
			group.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond) // in this order
				_, results[i] = f.Do(t.Context(), Fetch{Method: "GET", URL: "http://127.0.0.1/"})
			})
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("left")
		group.Go(func() {
			time.Sleep(time.Second)
			if _, err := f.Do(ctx, Fetch{Method: "GET", URL: "http://127.0.0.1/"}); !errors.Is(err, reason) {
				t.Errorf("who left: %v", err)
			}
		})
		time.Sleep(2 * time.Second)
		cancel(reason)
		group.Wait()
		for i, err := range results {
			if i < 4 && err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
		wantLimit(t, results[4], KindLimit, "connections", "2 requests to http://127.0.0.1 are open, the limit; none ended within 10s")
		if n := len(f.caller.gate.lanes); n != 0 {
			t.Errorf("%d lanes are left", n)
		}
	})
}
