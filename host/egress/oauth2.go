package egress

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/plinthhost/plinth/host/secret"
)

// The grants of OAuth2.
const (
	GrantClientCredentials = "client_credentials"
	GrantRefreshToken      = "refresh_token"
)

const (
	// tokenSkew is how long before its end a token is replaced, but no more than a
	// tenth of its life.
	tokenSkew = time.Minute
	// tokenLife is that of a token that does not say.
	tokenLife = 5 * time.Minute
	// tokenMinAge is how old a rejected token must be to be replaced, so that a
	// server that rejects everything does not make the endpoint busy.
	tokenMinAge  = 10 * time.Second
	tokenTimeout = 30 * time.Second
	maxToken     = 16 << 10
)

// OAuth2 says where access tokens come from. The credential's secret is that of
// the client, or the refresh token, as the grant has it.
type OAuth2 struct {
	TokenURL string // https, or http on this machine; only this very URL is asked
	Grant    string // client_credentials or refresh_token
	ClientID string
	Scope    string // names with spaces between; "" for none
	// ClientSecret answers the client's secret beside a refresh token; nil for none.
	ClientSecret func(ctx context.Context) (secret.Value, error)
	// InBody sends the client's id and secret in the form, not by HTTP Basic.
	InBody bool
	// Rotated is told the refresh token that replaces the one before; nil keeps it
	// in memory only.
	Rotated func(secret.Value)
}

// errTokensClosed ends the fetching of tokens.
var errTokensClosed = errors.New("the connection is closed")

// tokens fetches access tokens, one at a time for all who wait.
type tokens struct {
	config   OAuth2
	endpoint Target
	source   Source
	scrubber *secret.Scrubber
	caller   *caller

	ctx     context.Context // of the fetching, which no caller can interrupt
	cancel  context.CancelCauseFunc
	fetches sync.WaitGroup

	mu      sync.Mutex
	current token
	flight  *flight
	refresh struct{ given, rotated secret.Value } // the configured one, and what replaced it
}

type token struct {
	value       secret.Value
	since, ends time.Time // ends with the skew taken off
}

// flight is a fetch. Its fields are set when done is closed.
type flight struct {
	done  chan struct{}
	value secret.Value
	err   error
}

func newTokens(config OAuth2, source Source, scrubber *secret.Scrubber, n *Network) (*tokens, error) {
	if config.Grant != GrantClientCredentials && config.Grant != GrantRefreshToken {
		return nil, policyError("there is no OAuth2 grant %q; use %s or %s", config.Grant, GrantClientCredentials, GrantRefreshToken)
	}
	if config.ClientID == "" {
		return nil, policyError("OAuth2 needs the client's id")
	}
	endpoint, err := ParseURL(config.TokenURL)
	if err != nil {
		return nil, policyError("the token endpoint: %v", err)
	}
	if endpoint.Origin.Scheme == "http" && !endpoint.Origin.local() {
		return nil, policyError("no secret is sent over plain http to the token endpoint %s; use https, or an address on this machine", endpoint.Origin)
	}
	t := &tokens{config: config, endpoint: endpoint, source: source, scrubber: scrubber,
		caller: newCaller(n, n.operatorReach(endpoint.Origin), Timeouts{}.defaults(Timeouts{}), Limits{Body: 4 * maxToken}.defaults(Limits{}), scrubber, nil)}
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	return t, nil
}

// token answers an access token that is good for a while.
func (t *tokens) token(ctx context.Context) (secret.Value, error) {
	t.mu.Lock()
	if time.Now().Before(t.current.ends) {
		defer t.mu.Unlock()
		return t.current.value, nil
	}
	if t.ctx.Err() != nil {
		t.mu.Unlock()
		return secret.Value{}, errTokensClosed
	}
	f := t.flight
	if f == nil {
		f = &flight{done: make(chan struct{})}
		t.flight = f
		t.fetches.Go(func() { t.fly(f) })
	}
	t.mu.Unlock()
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		return secret.Value{}, context.Cause(ctx)
	}
}

func (t *tokens) fly(f *flight) {
	fetched, err := t.fetch()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.current = fetched
	}
	f.value, f.err = fetched.value, err
	t.flight = nil
	close(f.done)
}

// rejected forgets the token unless it is new, and reports whether it did.
func (t *tokens) rejected(value secret.Value) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.current.value.Equal(value) {
		return true
	}
	if time.Since(t.current.since) < tokenMinAge {
		return false
	}
	t.current = token{}
	return true
}
