package config_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/host/egress"
)

func TestProvider(t *testing.T) {
	_, environ := home(t, `
[providers.gateway]
plugin = "core/openai"
base_url = "https://models.example/v1"
timeout_ms = 600000
first_byte_ms = 300000
idle_ms = 30000
[providers.gateway.oauth2]
token_url = "https://login.example/token?tenant=7"
client_id = "plinth"
client_secret = "env:PLINTH_CLIENT"
scope = "models.read models.write"
[providers.mine]
plugin = "acme/codec"
base_url = "https://mine.example"
oauth2 = {token_url = "http://127.0.0.1:9/token", grant = "refresh_token", client_id = "cli", refresh_token = "env:PLINTH_REFRESH", client_auth = "body"}
[providers.aws]
plugin = "acme/bedrock"
base_url = "https://gateway.example"
secret = "env:AWS"
region = "eu-central-1"
`)
	got, err := config.Load(config.Sources{Environ: append(environ, "PLINTH_CLIENT=x", "PLINTH_REFRESH=y")})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]config.Provider{
		"gateway": {Plugin: "core/openai", BaseURL: "https://models.example/v1", TimeoutMS: 600000, FirstByteMS: 300000, IdleMS: 30000,
			OAuth2: &config.OAuth2{TokenURL: "https://login.example/token?tenant=7", Grant: "client_credentials", ClientID: "plinth",
				ClientSecret: "env:PLINTH_CLIENT", ClientAuth: "basic", Scope: "models.read models.write"}},
		"mine": {Plugin: "acme/codec", BaseURL: "https://mine.example", OAuth2: &config.OAuth2{TokenURL: "http://127.0.0.1:9/token",
			Grant: "refresh_token", ClientID: "cli", RefreshToken: "env:PLINTH_REFRESH", ClientAuth: "body"}},
		"aws": {Plugin: "acme/bedrock", BaseURL: "https://gateway.example", Secret: "env:AWS", Region: "eu-central-1"},
	}
	if diff := cmp.Diff(want, got.Providers); diff != "" {
		t.Error(diff)
	}
}

// TestProblemsOfProviders gives one bad value each, below a good table.
func TestProblemsOfProviders(t *testing.T) {
	const provider = "[providers.p]\nplugin = \"core/openai\"\nbase_url = \"https://x.example/v1\"\n"
	const tokens = provider + "[providers.p.oauth2]\ntoken_url = \"https://t.example\"\nclient_id = \"c\"\n"
	const good = tokens + "client_secret = \"env:C\"\n"
	for name, test := range map[string]struct{ text, want string }{
		"region":            {provider + `region = "EU"`, `FILE:4: providers.p.region = "EU": must be the name of an AWS region, like "eu-central-1"`},
		"time":              {provider + `timeout_ms = -1`, "FILE:4: providers.p.timeout_ms = -1: must be from 0 to 86400000"},
		"time of headers":   {provider + `first_byte_ms = 86400001`, "FILE:4: providers.p.first_byte_ms = 86400001: must be from 0"},
		"time between":      {provider + `idle_ms = 0.5`, "FILE:4: providers.p.idle_ms: must be a whole number"},
		"kind of table":     {provider + `oauth2 = "x"`, "FILE:4: providers.p.oauth2: must be a table"},
		"unknown":           {good + `secret = "hush"`, "FILE:8: providers.p.oauth2.secret: unknown key; known here: token_url, grant, client_id, client_secret, client_auth, refresh_token, scope"},
		"token URL missing": {provider + "[providers.p.oauth2]\nclient_id = \"c\"\nclient_secret = \"env:C\"", `FILE:4: providers.p.oauth2.token_url: is missing; give the URL that access tokens come from`},
		"token URL":         {strings.Replace(good, "https://t", "t", 1), `FILE:5: providers.p.oauth2.token_url: the URL "t.example" must begin with https:// or http://`},
		"token URL plain":   {strings.Replace(good, "https://t", "http://t", 1), "FILE:5: providers.p.oauth2.token_url: no secret is sent over plain http to t.example; use https"},
		"token URL user":    {strings.Replace(good, "https://t", "https://me:hush@t", 1), "FILE:5: providers.p.oauth2.token_url: the URL must not hold a user name or password"},
		"base URL plain":    {strings.Replace(good, "https://x", "http://x", 1), "FILE:3: providers.p.base_url: no secret is sent over plain http"},
		"grant":             {good + `grant = "password"`, `FILE:8: providers.p.oauth2.grant = "password": must be one of client_credentials, refresh_token`},
		"client":            {strings.Replace(good, "client_id = \"c\"", "", 1), "FILE:4: providers.p.oauth2.client_id: is missing"},
		"client auth":       {good + `client_auth = "jwt"`, `FILE:8: providers.p.oauth2.client_auth = "jwt": must be one of basic, body`},
		"no secret":         {tokens, "FILE:4: providers.p.oauth2.client_secret: is missing; the grant client_credentials needs a reference to it, like env:CLIENT_SECRET"},
		"secret pasted":     {tokens + `client_secret = "hush"`, "FILE:7: providers.p.oauth2.client_secret: a secret is given as a reference"},
		"no refresh token":  {good + `grant = "refresh_token"`, "FILE:4: providers.p.oauth2.refresh_token: is missing; the grant refresh_token needs a reference"},
		"refresh pasted":    {good + "grant = \"refresh_token\"\nrefresh_token = \"hush\"", "FILE:9: providers.p.oauth2.refresh_token: a secret is given as a reference"},
		"refresh unused":    {good + `refresh_token = "env:R"`, `FILE:8: providers.p.oauth2.refresh_token: has no use with the grant client_credentials; remove it, or set grant = "refresh_token"`},
		"scope":             {good + `scope = "a\nb"`, "FILE:8: providers.p.oauth2.scope = \"a\\nb\": must be names with spaces between"},
		"secret beside":     {strings.Replace(good, "[providers.p.oauth2]", "secret = \"env:S\"\n[providers.p.oauth2]", 1), "FILE:4: providers.p.secret: has no place beside [providers.p.oauth2]; give it there, as client_secret or refresh_token"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, environ := home(t, test.text)
			_, err := config.Load(config.Sources{Environ: environ})
			var e *config.Error
			if !errors.As(err, &e) || len(e.Problems) != 1 {
				t.Fatalf("want one problem: %v", err)
			}
			want := strings.ReplaceAll(test.want, "FILE", filepath.Join(dir, ".config/plinth/config.toml"))
			if !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%v\nwant %s", err, want)
			}
		})
	}
}

// TestAuth joins what a codec wants with what is configured.
func TestAuth(t *testing.T) {
	dir, environ := home(t, `
[providers.none]
plugin = "a/codec"
base_url = "http://127.0.0.1:1"
[providers.key]
plugin = "a/codec"
base_url = "https://x.example"
secret = "env:K"
[providers.tokens]
plugin = "a/codec"
base_url = "https://x.example"
oauth2 = {token_url = "https://t.example", client_id = "c", client_secret = "env:C"}
[providers.aws]
plugin = "a/codec"
base_url = "https://x.example"
secret = "env:K"
region = "eu-central-1"
`)
	loaded, err := config.Load(config.Sources{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	header := egress.Auth{Kind: egress.AuthHeader, Name: "X-Key", Value: "Key {secret}"}
	query := egress.Auth{Kind: egress.AuthQuery, Name: "key"}
	signed := egress.Auth{Kind: egress.AuthSigV4, Name: "bedrock"}
	tokens := egress.Auth{Kind: egress.AuthOAuth2}
	inHeader := header
	inHeader.Kind = egress.AuthOAuth2
	for _, test := range []struct {
		name   string
		wanted egress.Auth
		want   egress.Auth
		wrong  string
	}{
		{"none", egress.Auth{}, egress.Auth{}, ""},
		{"none", header, header, ""},
		{"none", signed, egress.Auth{}, "FILE:2: providers.none.secret: the codec of a/codec signs requests to the AWS service bedrock; give a secret"},
		{"none", tokens, egress.Auth{}, "FILE:2: providers.none.oauth2: the codec of a/codec sends access tokens; add a table [providers.none.oauth2] with"},
		{"key", egress.Auth{}, egress.Auth{}, "FILE:8: providers.key.secret: the codec of a/codec sends no secret; remove it"},
		{"key", header, header, ""},
		{"key", query, query, ""},
		{"key", signed, signed, ""},
		{"key", tokens, egress.Auth{}, "FILE:5: providers.key.oauth2: the codec of a/codec sends access tokens"},
		{"tokens", egress.Auth{}, egress.Auth{}, `FILE:12: providers.tokens.oauth2: the codec of a/codec has no header for an access token (its auth is ""); remove the table`},
		{"tokens", header, inHeader, ""},
		{"tokens", tokens, tokens, ""},
		{"tokens", query, egress.Auth{}, `FILE:12: providers.tokens.oauth2: the codec of a/codec has no header for an access token (its auth is "query")`},
		{"tokens", signed, egress.Auth{}, `FILE:12: providers.tokens.oauth2: the codec of a/codec has no header for an access token (its auth is "sigv4")`},
		{"aws", signed, signed, ""},
		{"aws", header, egress.Auth{}, "FILE:17: providers.aws.region: the codec of a/codec does not sign by sigv4; remove the region"},
	} {
		got, err := loaded.Auth(test.name, test.wanted)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s, %s: %s", test.name, test.wanted.Kind, diff)
		}
		said := ""
		if err != nil {
			said = strings.ReplaceAll(err.Error(), filepath.Join(dir, ".config/plinth/config.toml"), "FILE")
		}
		if !strings.HasPrefix(said, test.wrong) || test.wrong == "" && said != "" {
			t.Errorf("%s, %s: %q, want %q", test.name, test.wanted.Kind, said, test.wrong)
		}
	}
}
