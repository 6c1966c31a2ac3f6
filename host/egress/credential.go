package egress

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/host/secret"
)

// The kinds of Auth.
const (
	AuthHeader = "header"
	AuthQuery  = "query"
	AuthSigV4  = "sigv4"
	AuthOAuth2 = "oauth2"
)

// placeholder stands for the secret in the value of a header or parameter.
const placeholder = "{secret}"

// Auth says where the secret goes.
type Auth struct {
	Kind string // header, query, sigv4 or oauth2; "" sends no secret
	// Name is the header or the parameter; of sigv4 the AWS service, like "bedrock".
	// oauth2 has the header Authorization unless one is named.
	Name string
	// Value has {secret} in it; "" means "{secret}", of oauth2 "Bearer {secret}".
	Value string
}

// Source is where a secret comes from.
type Source struct {
	// Get answers the secret, at every request. An *Error with KindPolicy refuses the
	// request in its own words.
	Get func(ctx context.Context) (secret.Value, error)
	// Rejected is told a secret that the server answered 401 to; when Get then
	// answers another, the request is made once more. nil for none.
	Rejected func(secret.Value)
}

// Credential is a secret with what it takes to put it into a request.
//
// A sigv4 secret is "ID:KEY" or "ID:KEY:SESSION-TOKEN", or the JSON that AWS's
// credential_process prints, so that this works as a reference:
// command:aws configure export-credentials --format process.
type Credential struct {
	Auth   Auth
	Source Source
	Region string  // of sigv4, like "eu-central-1"; "" for that in the name of an AWS host
	OAuth2 *OAuth2 // of oauth2
}

func (a Auth) withDefaults() Auth {
	if a.Kind == AuthOAuth2 && a.Name == "" {
		a.Name = "Authorization"
		if a.Value == "" {
			a.Value = "Bearer " + placeholder
		}
	}
	if a.Value == "" {
		a.Value = placeholder
	}
	return a
}

// Check refuses what is wrong whatever the configuration is. Errors are of type
// *Error with KindPolicy.
func (a Auth) Check() error {
	if !slices.Contains([]string{"", AuthHeader, AuthQuery, AuthSigV4, AuthOAuth2}, a.Kind) {
		return policyError("there is no auth kind %q; use header, query, sigv4 or oauth2", shown(a.Kind))
	}
	a = a.withDefaults()
	what := map[string]string{AuthHeader: "the header the secret goes into", AuthQuery: "the query parameter the secret goes into", AuthSigV4: "the AWS service, like bedrock"}[a.Kind]
	switch {
	case a.Kind == "":
		return nil
	case a.Name == "":
		return policyError("auth kind %s needs a name, that of %s", a.Kind, what)
	case !strings.Contains(a.Value, placeholder):
		return policyError("the value of auth must have %s in it, where the secret goes", placeholder)
	case a.Kind == AuthSigV4 && a.Value != placeholder:
		return policyError("auth kind sigv4 has no value; the host signs with the secret")
	case a.Kind == AuthHeader, a.Kind == AuthOAuth2:
		return a.checkHeader()
	}
	return nil
}

// checkHeader refuses the headers that are nobody's to set but the connection's.
func (a Auth) checkHeader() error {
	if slices.Contains([]string{"Authorization", "Cookie"}, http.CanonicalHeaderKey(a.Name)) {
		return checkHeader("X", a.Value, nil)
	}
	return checkHeader(a.Name, a.Value, nil)
}

// check refuses what the credential cannot do.
func (c Credential) check() error {
	if err := c.Auth.Check(); err != nil {
		return err
	}
	switch {
	case c.Auth.Kind == AuthSigV4 && c.Region == "":
		return policyError("auth kind sigv4 needs a region, and the host's name has none, as bedrock-runtime.eu-central-1.amazonaws.com has")
	case c.Auth.Kind == AuthOAuth2 && c.OAuth2 == nil:
		return policyError("auth kind oauth2 needs a token endpoint, which the operator configures")
	}
	return nil
}

// injector puts one secret into requests to one origin that have passed the policy.
type injector struct {
	credential Credential
	origin     Origin
	scrubber   *secret.Scrubber
	tokens     *tokens // of oauth2
}

// newInjector answers nil where there is no secret to send. Tokens are fetched
// over the network.
func newInjector(c Credential, origin Origin, scrubber *secret.Scrubber, n *Network) (*injector, error) {
	c.Auth = c.Auth.withDefaults()
	if c.Region == "" {
		c.Region = awsRegion(origin.Host)
	}
	if err := c.check(); err != nil || c.Auth.Kind == "" || c.Source.Get == nil {
		return nil, err
	}
	if origin.Scheme == "http" && !origin.local() {
		return nil, policyError("no secret is sent over plain http to %s; use https, or an address on this machine", origin.authority())
	}
	i := &injector{credential: c, origin: origin, scrubber: scrubber}
	if c.Auth.Kind == AuthOAuth2 {
		var err error
		if i.tokens, err = newTokens(*c.OAuth2, c.Source, scrubber, n); err != nil {
			return nil, err
		}
	}
	return i, nil
}

// headers are the names that guests must leave alone, and query the parameter.
func (i *injector) headers() []string {
	if i == nil {
		return nil
	}
	switch i.credential.Auth.Kind {
	case AuthHeader, AuthOAuth2:
		return []string{i.credential.Auth.Name}
	case AuthSigV4:
		return []string{"X-Amz-Date", "X-Amz-Security-Token", "X-Amz-Content-Sha256"}
	}
	return nil
}

func (i *injector) query() string {
	if i == nil || i.credential.Auth.Kind != AuthQuery {
		return ""
	}
	return i.credential.Auth.Name
}

// clashes reports whether both set the same header or parameter of one origin, or
// one signs what the other sets.
func (i *injector) clashes(other *injector) bool {
	if i.origin != other.origin {
		return false
	}
	a, b := i.credential.Auth, other.credential.Auth
	header := func(a Auth) bool { return a.Kind != AuthQuery }
	return a.Kind == AuthSigV4 || b.Kind == AuthSigV4 || header(a) == header(b) && strings.EqualFold(a.Name, b.Name)
}

// apply puts the secret into the hop and answers it.
func (i *injector) apply(ctx context.Context, h *hop) (secret.Value, error) {
	if i == nil {
		return secret.Value{}, nil
	}
	value, err := i.value(ctx)
	if err != nil {
		return secret.Value{}, err
	}
	auth := i.credential.Auth
	text := strings.ReplaceAll(auth.Value, placeholder, value.Reveal())
	switch auth.Kind {
	case AuthQuery:
		if h.target.Query != "" {
			h.target.Query += "&"
		}
		h.target.Query += url.QueryEscape(auth.Name) + "=" + url.QueryEscape(text)
	case AuthSigV4:
		keys, err := parseAWSKeys(value.Reveal())
		if err != nil {
			return secret.Value{}, i.failure(err)
		}
		i.scrubber.Add(secret.NewValue(keys.secret))
		i.scrubber.Add(secret.NewValue(keys.token))
		signV4(h, keys, i.credential.Region, auth.Name)
	default:
		if !validValue(text) {
			return secret.Value{}, i.failure(fmt.Errorf("it has characters that a header cannot carry"))
		}
		h.header.Set(auth.Name, text)
	}
	return value, nil
}

// value answers the secret as it goes into a request, a token where there is one.
func (i *injector) value(ctx context.Context) (secret.Value, error) {
	get := i.credential.Source.Get
	if i.tokens != nil {
		get = i.tokens.token
	}
	value, err := get(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return secret.Value{}, fmt.Errorf("call %s: %w", i.origin, context.Cause(ctx))
		}
		return secret.Value{}, i.failure(err)
	}
	i.scrubber.Add(value)
	return value, nil
}

func (i *injector) failure(err error) error {
	if refused, ok := errors.AsType[*Error](err); ok && refused.Kind == KindPolicy && i.tokens == nil {
		return refused
	}
	return &Error{Kind: KindSecret, Text: i.scrubber.Scrub(fmt.Sprintf("the secret for %s is not there: %v", i.origin, err))}
}

// rejected passes a 401 on and reports whether there is by now another secret than
// the one that was sent. After the last try nobody looks for one.
func (i *injector) rejected(ctx context.Context, sent secret.Value, last bool) bool {
	if i == nil {
		return false
	}
	if i.tokens != nil {
		return i.tokens.rejected(sent) && !last
	}
	if i.credential.Source.Rejected == nil {
		return false
	}
	i.credential.Source.Rejected(sent)
	if last {
		return false
	}
	value, err := i.credential.Source.Get(ctx)
	return err == nil && !value.Equal(sent)
}

// Close ends the fetching of tokens.
func (i *injector) Close() {
	if i != nil && i.tokens != nil {
		i.tokens.Close()
	}
}
