// Package mcp is a client of the Model Context Protocol: it runs or reaches the servers
// that the operator configured and puts their tools behind the kernel's port.
//
// A server is a stranger. Its names, descriptions, schemas and results are bounded and
// cleaned, its annotations are not believed, and each of its tools asks permission like a
// plugin's. What it asks of the client (sampling, elicitation, roots) is refused, and its
// resources and prompts are not used.
//
// A [Hub] keeps one connection to each server and opens it again, later each time, when
// it ends. Tools stay while their server is away and say so when they are called. What
// would fill a model's window is not described whole: two tools, mcp_find and mcp_call,
// stand for all of it.
package mcp

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/process"
	"github.com/plinthhost/plinth/host/secret"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// Server is a server as the operator configured it. It has either Command or URL.
type Server struct {
	// Name begins the names of its tools: small letters, digits and -, at most 32.
	Name string
	// Command is a program and its arguments, spoken with over stdio.
	Command []string
	// URL is an endpoint of streamable HTTP.
	URL string
	// Environment is what the program has beside the usual variables, Headers what goes
	// along with every request. Values are references to secrets (secret.IsReference), or
	// themselves.
	Environment map[string]string
	Headers     map[string]string
	// Secret is a reference to a bearer token; empty for none.
	Secret string
	// Timeout bounds a call's running time; 0 is DefaultTimeout.
	Timeout time.Duration
	// Allow and Deny are patterns of the server's own names of tools, with * and ?. A tool
	// is there when Allow is empty or has it, and Deny has it not.
	Allow, Deny []string
	// Describe is how many tools are described whole in each request; a server that has
	// more is searched instead. Negative is none, 0 is DefaultDescribe.
	Describe int
}

// Defaults and bounds.
const (
	DefaultTimeout  = time.Minute
	DefaultDescribe = 20
	// MaxDescribed is how many bytes of descriptions and schemas of all servers stand in a
	// request; servers that come after it, by name, are searched instead.
	MaxDescribed = 32 << 10
	// Index is a name no server has: of what searches them.
	Index = "index"
	// Startup bounds how long sessions wait for servers after Start.
	Startup = 10 * time.Second
)

// Offer is what a server, or the Index, contributes from now on.
type Offer struct {
	Name        string
	Version     string
	Description string
	// Fingerprint differs when anything of it does.
	Fingerprint   []byte
	Contributions []registry.Contribution
}

// Publisher puts what servers offer into the registries.
type Publisher interface {
	// Serve has an offer take the place of the one before.
	Serve(ctx context.Context, offer Offer) error
	// Leave takes a server out for good: it is not configured any more.
	Leave(ctx context.Context, name string) error
	// Failed tells why a server is not there; nil when it is there again.
	Failed(name string, err error)
	// Wanted reports whether the server is to run: nobody disabled it.
	Wanted(name string) bool
}

// Keeper keeps the bytes of files in results, and answers their digest.
type Keeper interface {
	Put(ctx context.Context, value []byte) (digest string, err error)
}

// Options is what a hub works with.
type Options struct {
	Publisher Publisher
	Tools     *registry.Kind[session.Tool]
	Processes *process.Runner
	Network   *egress.Network
	// Scrubber takes secrets out of all that servers say.
	Scrubber *secret.Scrubber
	// Secret resolves a reference; Rejected is told one that a server did not take.
	Secret   func(ctx context.Context, reference string) (secret.Value, error)
	Rejected func(reference string, value secret.Value)
	Blobs    Keeper
	// Directory is where programs run: the operator's home.
	Directory string
	Version   string // the host's
	Logger    hclog.Logger
	// Patience bounds a server's start, with the list of its tools; 0 is 30 s.
	Patience time.Duration
	// Pause is the first wait before a server is started again; it doubles up to 300
	// times that. 0 is 1 s.
	Pause time.Duration
}
