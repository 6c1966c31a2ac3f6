package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/secret"
)

// offline is the provider that is always there, with its one model.
const (
	offline      = "offline"
	offlineModel = "rules"
)

// Provider is one [providers.NAME]. References are as secret.Check has them; an
// empty one is none.
type Provider struct {
	Plugin  string   `toml:"plugin"`   // "owner/name" of the plugin that speaks its protocol
	BaseURL string   `toml:"base_url"` // the only place its requests go
	Secret  string   `toml:"secret"`   // a reference
	Models  []string `toml:"models"`   // what may be chosen; empty for any
	// Discover asks the server which models it has, to tell of them. It does not keep
	// others from being chosen.
	Discover bool   `toml:"discover"`
	Region   string `toml:"region"` // of sigv4; empty for that in the host's name
	// System is what agents without a system text of their own are told, where the model
	// has none either.
	System string `toml:"system"`

	// Milliseconds; 0 for the default of egress.Timeouts.
	TimeoutMS   int `toml:"timeout_ms"`    // of a whole request
	FirstByteMS int `toml:"first_byte_ms"` // until the answer begins
	IdleMS      int `toml:"idle_ms"`       // between two pieces of it

	OAuth2 *OAuth2 `toml:"oauth2"` // in the place of Secret; nil for none
}

// OAuth2 is one [providers.NAME.oauth2]: where access tokens come from.
type OAuth2 struct {
	TokenURL     string `toml:"token_url"`
	Grant        string `toml:"grant"` // as in egress; client_credentials
	ClientID     string `toml:"client_id"`
	ClientSecret string `toml:"client_secret"` // a reference; may be empty beside a refresh token
	ClientAuth   string `toml:"client_auth"`   // ClientAuthBasic or ClientAuthBody; basic
	RefreshToken string `toml:"refresh_token"` // a reference; of the grant refresh_token
	Scope        string `toml:"scope"`         // names with spaces between; empty for none
}

// The ways to tell a token endpoint the client's id and secret.
const (
	ClientAuthBasic = "basic" // HTTP Basic
	ClientAuthBody  = "body"  // in the form
)

// maxWait bounds the time limits of a provider, in milliseconds: a day.
const maxWait = 24 * 60 * 60 * 1000

func (l *loader) providers() {
	for _, id := range slices.Sorted(maps.Keys(l.config.Providers)) {
		p := l.config.Providers[id]
		key := func(field string) string { return join("providers", id, field) }
		if id == offline {
			l.problem(join("providers", id), nil, "the name is taken by the provider that is always there; choose another")
		} else if !name.MatchString(id) {
			l.problem(join("providers", id), nil, "a provider's name has small letters, digits, - and _ only")
		}
		if !pluginID.MatchString(p.Plugin) {
			l.problem(key("plugin"), p.Plugin, `must be the id of a provider plugin, like "core/openai"`)
		}
		if _, err := egress.CheckBaseURL(p.BaseURL, p.Secret != "" || p.OAuth2 != nil); err != nil {
			l.problem(key("base_url"), nil, "%v", err)
		}
		if slices.Contains(p.Models, "") {
			l.problem(key("models"), nil, "must have no empty name")
		}
		if p.Region != "" && !name.MatchString(p.Region) {
			l.problem(key("region"), p.Region, "must be the name of an AWS region, like %q", "eu-central-1")
		}
		l.within(key("timeout_ms"), p.TimeoutMS, 0, maxWait)
		l.within(key("first_byte_ms"), p.FirstByteMS, 0, maxWait)
		l.within(key("idle_ms"), p.IdleMS, 0, maxWait)
		l.systemSize(key("system"), p.System)
		l.reference(key("secret"), p.Secret)
		if p.OAuth2 != nil {
			l.oauth2(id, p)
		}
	}
}

// reference checks a secret's reference, where there is one.
func (l *loader) reference(key, text string) {
	if text == "" {
		return
	}
	if err := secret.Check(text); err != nil {
		l.problem(key, nil, "%v", err) // the value may be the secret itself
	}
}

// oauth2 checks the table and fills in what it leaves out.
func (l *loader) oauth2(id string, p Provider) {
	o := p.OAuth2
	key := func(field string) string { return join("providers", id, "oauth2", field) }
	if p.Secret != "" {
		l.problem(join("providers", id, "secret"), nil, "has no place beside [providers.%s.oauth2]; give it there, as client_secret or refresh_token", id)
	}
	if o.Grant == "" {
		o.Grant = egress.GrantClientCredentials
	}
	if o.ClientAuth == "" {
		o.ClientAuth = ClientAuthBasic
	}
	l.oneOf(key("grant"), o.Grant, egress.GrantClientCredentials, egress.GrantRefreshToken)
	l.oneOf(key("client_auth"), o.ClientAuth, ClientAuthBasic, ClientAuthBody)
	if o.ClientID == "" {
		l.problem(key("client_id"), nil, "is missing; give the id that the client is registered by")
	}
	switch {
	case o.Grant == egress.GrantClientCredentials && o.ClientSecret == "":
		l.problem(key("client_secret"), nil, "is missing; the grant %s needs a reference to it, like env:CLIENT_SECRET", o.Grant)
	case o.Grant == egress.GrantRefreshToken && o.RefreshToken == "":
		l.problem(key("refresh_token"), nil, "is missing; the grant %s needs a reference to it, like env:REFRESH_TOKEN", o.Grant)
	case o.Grant == egress.GrantClientCredentials && o.RefreshToken != "":
		l.problem(key("refresh_token"), nil, "has no use with the grant %s; remove it, or set grant = %q", o.Grant, egress.GrantRefreshToken)
	}
	l.reference(key("client_secret"), o.ClientSecret)
	l.reference(key("refresh_token"), o.RefreshToken)
	if strings.ContainsFunc(o.Scope, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		l.problem(key("scope"), o.Scope, "must be names with spaces between, like %q", "models.read models.write")
	}
	if o.TokenURL == "" {
		l.problem(key("token_url"), nil, "is missing; give the URL that access tokens come from, like %q", "https://login.example/oauth2/token")
	} else if err := checkTokenURL(o.TokenURL); err != nil {
		l.problem(key("token_url"), nil, "%v", err)
	}
}

// checkTokenURL refuses what no secret is sent to.
func checkTokenURL(text string) error {
	target, err := egress.ParseURL(text)
	if err != nil {
		return err
	}
	_, err = egress.CheckBaseURL(target.Origin.String(), true)
	return err
}
