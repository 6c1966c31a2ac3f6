// Package egress is the only way out to the network for what guests ask for.
//
// A Client serves one provider: it reaches the operator's base URL and nothing
// else, follows no redirect, and streams. A Fetcher serves one plugin: it reaches
// what its grants allow, redirects included, every hop under the whole policy, and
// public addresses beside that somebody was asked about, without secrets. Both
// bring URLs into one canonical form before they decide, connect to addresses that
// were vetted and to no others, put secrets in after the policy has passed, take
// them out of all that comes back, and bound what is sent, what comes, how often
// and how long. A Network is the operator's: its resolver, proxy and certificates.
// A FrameReader cuts a streamed answer into frames.
package egress

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/plinthhost/plinth/host/secret"
)

// Options configure a Client. Only BaseURL is needed.
type Options struct {
	// BaseURL is http or https, a host, perhaps a path: "https://api.example/v1".
	BaseURL string
	Auth    Auth
	// Secret answers the secret that Auth places, at every request; nil for none.
	Secret func(ctx context.Context) (secret.Value, error)
	// Rejected is told a secret that was answered by 401; see Source.
	Rejected func(secret.Value)
	Region   string  // of sigv4; "" for that in the name of an AWS host
	OAuth2   *OAuth2 // of oauth2
	Timeouts Timeouts
	Limits   Limits
	// Scrubber takes secrets out of errors, headers and bodies; the client tells it
	// every secret it sends. Nil for one of the client's own.
	Scrubber *secret.Scrubber
	// Network is nil for a direct connection.
	Network *Network
	// Record is told what became of every request, on the goroutine that ended it;
	// nil for nobody.
	Record func(Record)
}

// Request is what a guest asks for.
type Request struct {
	Method  string
	Path    string // relative to the base URL; percent-encoded where needed
	Query   map[string]string
	Headers map[string]string
	Body    []byte
}

// Client makes requests below one base URL over a pool of kept connections. It
// is safe for use by several goroutines.
type Client struct {
	base     *url.URL
	origin   Origin
	injector *injector
	caller   *caller
}

// New makes a client. Errors are of type *Error with KindPolicy.
func New(options Options) (*Client, error) {
	base, origin, err := parseBase(options.BaseURL, options.Secret != nil)
	if err != nil {
		return nil, err
	}
	if options.Scrubber == nil {
		options.Scrubber = &secret.Scrubber{}
	}
	if options.Network == nil {
		if options.Network, err = NewNetwork(NetworkOptions{}); err != nil {
			return nil, err
		}
	}
	credential := Credential{Auth: options.Auth, Source: Source{options.Secret, options.Rejected}, Region: options.Region, OAuth2: options.OAuth2}
	placed, err := newInjector(credential, origin, options.Scrubber, options.Network)
	if err != nil {
		return nil, err
	}
	return &Client{
		base: base, origin: origin, injector: placed,
		caller: newCaller(options.Network, options.Network.operatorReach(origin), options.Timeouts.defaults(Timeouts{}), options.Limits.defaults(Limits{}), options.Scrubber, options.Record),
	}, nil
}

// operatorReach is that of an origin which the operator chose.
func (n *Network) operatorReach(origin Origin) reach {
	r := reach{operator: true, network: n.private}
	if _, ok := origin.literal(); ok {
		r.literals = []string{origin.endpoint()}
	}
	return r
}

// Do makes one request. It returns with the response's headers, whatever the
// status; a redirect is a response like any other. The caller closes the body,
// which also ends when ctx does. Errors are of type *Error, or wrap ctx's cause.
func (c *Client) Do(ctx context.Context, request Request) (*Response, error) {
	h := hop{method: request.Method, target: Target{Origin: c.origin}, body: request.Body}
	target, err := c.target(request)
	if err != nil {
		return nil, c.caller.refuse(h, err)
	}
	h.target = target
	if h.header, err = guestHeaders(request.Headers, c.injector.headers(), c.caller.limits); err != nil {
		return nil, c.caller.refuse(h, err)
	}
	if total := c.caller.timeouts.Total; total > 0 {
		h.deadline, h.total = time.Now().Add(total), total
	}
	return c.caller.authorised(ctx, h, []*injector{c.injector})
}

// authorised makes the request with the secrets put in, and once more when they
// were rejected and there are others by now.
func (c *caller) authorised(ctx context.Context, h hop, injectors []*injector) (*Response, error) {
	for again := false; ; again = true {
		wire := h
		wire.header = h.header.Clone()
		sent := make([]secret.Value, len(injectors))
		for i, injector := range injectors {
			var err error
			if sent[i], err = injector.apply(ctx, &wire); err != nil {
				return nil, c.refuse(h, err)
			}
		}
		response, err := c.send(ctx, wire)
		if err != nil || response.Status != http.StatusUnauthorized {
			return response, err
		}
		other := false
		for i, injector := range injectors {
			other = injector.rejected(ctx, sent[i], again) || other
		}
		if !other {
			return response, nil
		}
		response.Body.Close()
	}
}

// target decides on a guest's request and answers where it goes.
func (c *Client) target(request Request) (Target, error) {
	if err := checkMethod(request.Method); err != nil {
		return Target{}, err
	}
	path, err := c.join(request.Path)
	if err != nil {
		return Target{}, err
	}
	query := url.Values{}
	for name, value := range request.Query {
		if taken := c.injector.query(); taken != "" && strings.EqualFold(name, taken) {
			return Target{}, policyError("the query's %q is the host's to set", name)
		}
		query.Set(name, value)
	}
	target := Target{Origin: c.origin, Path: path, Query: query.Encode()}
	return target, checkLength(target)
}

// CheckRequest refuses a request that a client with this auth would refuse whatever its
// base URL is. Errors are of type *Error.
func (a Auth) CheckRequest(request Request) error {
	c := &Client{base: &url.URL{}, injector: &injector{credential: Credential{Auth: a.withDefaults()}}}
	if _, err := c.target(request); err != nil {
		return err
	}
	_, err := guestHeaders(request.Headers, c.injector.headers(), Limits{}.defaults(Limits{}))
	return err
}

// Close drops the idle connections. Responses still open stay their callers'.
func (c *Client) Close() error {
	c.injector.Close()
	c.caller.transport.CloseIdleConnections()
	return nil
}

// taken are the headers that the injectors set.
func taken(injectors []*injector) []string {
	var all []string
	for _, injector := range injectors {
		all = append(all, injector.headers()...)
	}
	return all
}
