package client_test

import (
	"flag"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/host/server/servertest"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the golden files")
	goleak.VerifyTestMain(m)
}

const patience = 10 * time.Second

// fast makes attempts follow at once.
func fast() client.Backoff {
	return client.Backoff{First: time.Millisecond, Max: 5 * time.Millisecond}
}

// host is a server with a backend in memory.
type host struct {
	*servertest.Memory
	server *server.Server
	socket string
	url    string
	admin  string
}

func start(t *testing.T, change ...func(*server.Options)) *host {
	t.Helper()
	folder, err := os.MkdirTemp("", "plinth")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return startWith(t, servertest.New(), filepath.Join(folder, "cli.sock"), change...)
}

func startWith(t *testing.T, memory *servertest.Memory, socket string, change ...func(*server.Options)) *host {
	t.Helper()
	options := server.Options{Listen: "127.0.0.1:0", Socket: socket, Version: "test"}
	for _, f := range change {
		f(&options)
	}
	s, err := server.New(options, memory.Backend())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	token, err := memory.Create(t.Context(), server.Caller{}, protocol.CreateToken{Scopes: []protocol.Scope{protocol.ScopeAdmin}})
	if err != nil {
		t.Fatal(err)
	}
	return &host{memory, s, socket, "http://" + s.Addr().String(), token.Secret}
}

func dial(t *testing.T, options client.Options) *client.Client {
	t.Helper()
	if options.Backoff == (client.Backoff{}) {
		options.Backoff = fast()
	}
	c, err := client.Dial(t.Context(), options)
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	t.Cleanup(c.Close)
	return c
}

// proxy carries connections to a host and cuts them: the first, which is Dial's
// probe, not, then each after a random number of bytes until it has made its cuts.
type proxy struct {
	listener net.Listener
	target   string
	tasks    sync.WaitGroup

	mu   sync.Mutex
	cuts int
	made int // -1 before the first connection
}

func startProxy(t *testing.T, target string, cuts int) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: target, cuts: cuts, made: -1}
	p.tasks.Go(p.accept)
	t.Cleanup(func() { listener.Close(); p.tasks.Wait() })
	return p
}

func (p *proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.tasks.Go(func() { p.carry(conn) })
	}
}

func (p *proxy) carry(conn net.Conn) {
	defer conn.Close()
	upstream, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer upstream.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(upstream, conn)
		upstream.Close()
	}()
	if limit := p.limit(); limit > 0 {
		io.CopyN(conn, upstream, limit)
	} else {
		io.Copy(conn, upstream)
	}
	conn.Close()
	<-done
}

// limit answers how many bytes the next connection may carry to the client, 0 for
// any number.
func (p *proxy) limit() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == p.cuts {
		return 0
	}
	if p.made++; p.made == 0 {
		return 0
	}
	return 1 + rand.Int64N(20_000)
}
