package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/plinthhost/plinth/host/secret"
)

// FetcherOptions configure a Fetcher.
type FetcherOptions struct {
	// Policy is what the operator granted; nil is nothing.
	Policy *Policy
	// Secrets go into requests to their audiences, nowhere else.
	Secrets []Injection
	// Timeouts and Limits, where zero, are a fetch's defaults.
	Timeouts Timeouts
	Limits   Limits
	// Scrubber takes secrets out of all that comes back; the fetcher tells it every
	// secret it sends. Nil for one of the fetcher's own.
	Scrubber *secret.Scrubber
	// Network is nil for a direct connection.
	Network *Network
	// Record is told what became of every request, hop by hop, and of refused ones;
	// nil for nobody.
	Record func(Record)
}

// Injection is a secret under the name by which a plugin asked for it.
type Injection struct {
	Handle string
	// Audience is the one origin that the secret is for.
	Audience   string
	Credential Credential
}

// The ways to treat redirects.
const (
	RedirectFollow = "follow" // the default
	RedirectManual = "manual" // the redirect is the answer
	RedirectError  = "error"
)

// Fetch is a request that a guest asks for.
type Fetch struct {
	Method  string
	URL     string
	Headers map[string]string
	Body    []byte
	// Redirect is one of the ways above, or "".
	Redirect string
	// Handles are the secrets that go along where their audience is; nil for all.
	Handles []string
	// MaxBody and Timeout narrow the limits response_body and Total; 0 leaves them.
	MaxBody int64
	Timeout time.Duration
	// Sink takes the body; nil for Fetched.Body. It has got a part of it when Do
	// fails in the middle.
	Sink io.Writer
	// Ask is asked about requests that are not granted, redirects included, while
	// the clock stands still. nil, or an error, refuses. What it allows reaches
	// public addresses only and takes no secret along, whatever is granted beside;
	// it is not asked about other addresses.
	Ask func(ctx context.Context, method string, target Target) error
	// Local has Ask asked, and what it allows reached, also where the URL names this
	// machine itself, like http://localhost:8080, or this machine redirects to itself.
	// Nothing else leads there.
	Local bool
}

// Fetched is the answer to a Fetch. All of it is scrubbed.
type Fetched struct {
	Status    int
	Headers   http.Header
	URL       string // the last one, without what the host put in
	Redirects int
	Body      []byte // nil with a sink
	Size      int64  // of the body, decompressed
}

// Fetcher makes requests under a policy, over a pool of kept connections that is
// its own. It is safe for use by several goroutines.
type Fetcher struct {
	policy    *Policy
	injectors []handle
	caller    *caller // for what is granted
	public    *caller // for what was asked for
	local     *caller // for what was asked for of this machine
}

type handle struct {
	name     string
	injector *injector
}

// NewFetcher makes a fetcher. Errors are of type *Error with KindPolicy.
func NewFetcher(options FetcherOptions) (*Fetcher, error) {
	if options.Scrubber == nil {
		options.Scrubber = &secret.Scrubber{}
	}
	var err error
	if options.Network == nil {
		if options.Network, err = NewNetwork(NetworkOptions{}); err != nil {
			return nil, err
		}
	}
	timeouts := options.Timeouts.defaults(Timeouts{FirstByte: 30 * time.Second, Idle: 30 * time.Second, Total: 120 * time.Second})
	limits := options.Limits.defaults(Limits{RequestBody: 8 << 20, Body: 16 << 20, Rate: 64, Connections: 16, Requests: 300})
	granted := reach{literals: options.Policy.literals(), network: options.Network.private}
	f := &Fetcher{policy: options.Policy, caller: newCaller(options.Network, granted, timeouts, limits, options.Scrubber, options.Record)}
	f.public = f.caller.beside(options.Network, reach{})
	f.local = f.caller.beside(options.Network, reach{local: true})
	for _, injection := range options.Secrets {
		if err := f.add(injection, options); err != nil {
			f.Close()
			return nil, policyError("secret %q: %v", injection.Handle, err)
		}
	}
	return f, nil
}

func (f *Fetcher) add(injection Injection, options FetcherOptions) error {
	audience, err := ParseOrigin(injection.Audience)
	if err != nil {
		return err
	}
	made, err := newInjector(injection.Credential, audience, options.Scrubber, options.Network)
	if err != nil {
		return err
	}
	if made == nil {
		return errors.New("it has no source, or no way into a request")
	}
	for _, other := range f.injectors {
		if other.name == injection.Handle {
			err = errors.New("the handle is given twice")
		} else if other.injector.clashes(made) {
			err = fmt.Errorf("it goes where %q goes", other.name)
		}
	}
	if err != nil {
		made.Close()
		return err
	}
	f.injectors = append(f.injectors, handle{injection.Handle, made})
	return nil
}

// Check answers the canonical form of a URL and whether the policy allows the
// request, by an *Error with KindPolicy. It resolves nothing.
func (f *Fetcher) Check(method, url string) (Target, error) {
	if err := checkMethod(method); err != nil {
		return Target{}, err
	}
	target, err := ParseURL(url)
	if err != nil {
		return Target{}, err
	}
	return target, f.policy.Check(method, target)
}

// Do makes the request, and those that redirects lead to. Errors are of type
// *Error, wrap what Ask or the sink said, or wrap ctx's cause.
func (f *Fetcher) Do(ctx context.Context, fetch Fetch) (Fetched, error) {
	c := &course{fetcher: f, fetch: fetch, total: f.caller.timeouts.Total}
	if fetch.Timeout > 0 {
		c.total = min(c.total, fetch.Timeout)
	}
	c.left = c.total
	response, err := c.run(ctx)
	if err != nil {
		return Fetched{}, err
	}
	defer response.Body.Close()
	fetched := Fetched{Status: response.Status, Headers: response.Headers, URL: f.caller.scrubber.Scrub(c.last.target.String()), Redirects: c.last.number}
	err = f.read(&fetched, response, fetch)
	return fetched, err
}

// read takes the body in, to the sink or into fetched.
func (f *Fetcher) read(fetched *Fetched, response *Response, fetch Fetch) error {
	var body io.Reader = response.Body
	if fetch.MaxBody > 0 && fetch.MaxBody < f.caller.limits.Body {
		body = &limitedBody{what: fetched.URL, inner: body, limit: fetch.MaxBody}
	}
	if fetch.Sink == nil {
		data, err := io.ReadAll(body)
		fetched.Body, fetched.Size = data, int64(len(data))
		return err
	}
	var err error
	fetched.Size, err = io.Copy(sink{fetch.Sink}, body)
	return err
}

// sink tells a failing writer from a failing connection.
type sink struct{ io.Writer }

func (s sink) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if err != nil {
		err = fmt.Errorf("store the answer: %w", err)
	}
	return n, err
}

// way answers who makes the request, with which secrets, and their handles.
func (f *Fetcher) way(h hop, wanted []string) (*caller, []*injector, []string) {
	switch {
	case h.asked && h.target.Origin.local():
		return f.local, nil, nil
	case h.asked:
		return f.public, nil, nil
	}
	injectors, names := f.chosen(h.target.Origin, wanted)
	return f.caller, injectors, names
}

// chosen are the injectors whose audience is the origin and which the guest wants,
// and their handles.
func (f *Fetcher) chosen(origin Origin, handles []string) (injectors []*injector, names []string) {
	for _, h := range f.injectors {
		if h.injector.origin == origin && (handles == nil || slices.Contains(handles, h.name)) {
			injectors = append(injectors, h.injector)
			names = append(names, h.name)
		}
	}
	return injectors, names
}

// known refuses handles that there are not.
func (f *Fetcher) known(handles []string) error {
	for _, name := range handles {
		if !slices.ContainsFunc(f.injectors, func(h handle) bool { return h.name == name }) {
			return policyError("there is no secret %q", shown(name))
		}
	}
	return nil
}

// parameters answers the names of a query's parameters, as a server may read them.
func parameters(query string) []string {
	var names []string
	for part := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, _, _ := strings.Cut(part, "=")
		names = append(names, decoded(strings.ReplaceAll(name, "+", " ")))
	}
	return names
}

// Close drops the idle connections and ends the fetching of tokens.
func (f *Fetcher) Close() error {
	for _, h := range f.injectors {
		h.injector.Close()
	}
	f.caller.transport.CloseIdleConnections()
	f.public.transport.CloseIdleConnections()
	f.local.transport.CloseIdleConnections()
	return nil
}
