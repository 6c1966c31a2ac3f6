package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/secret"
)

// connections are the operator's providers; each reaches its base URL and nothing
// else, with its secret put in behind the guest's back.
func (a *app) connections() map[string]plugin.Connection {
	all := make(map[string]plugin.Connection, len(a.config.Providers))
	for name, provider := range a.config.Providers {
		all[name] = plugin.Connection{Plugin: provider.Plugin, Open: func(auth egress.Auth) (*egress.Client, error) {
			if auth.Kind != "" && provider.Secret == "" && provider.OAuth2 == nil && strings.HasPrefix(provider.BaseURL, "https:") {
				a.logger.Warn("requests go without a secret", "reason", a.config.Mistake(
					fmt.Sprintf("is not given; the codec of %s puts it into the %s %s", provider.Plugin, auth.Kind, auth.Name), "providers", name, "secret"))
			}
			return a.open(name, auth)
		}}
	}
	return all
}

// newNetwork is the way out that the operator configured.
func (a *app) newNetwork() (*egress.Network, error) {
	configured := a.config.Network
	options := egress.NetworkOptions{Private: configured.Private, Roots: configured.Roots, Scrubber: a.scrubber}
	if configured.Proxy != "" {
		options.Proxy = &egress.Proxy{URL: configured.Proxy, Secret: a.source(configured.ProxySecret).Get,
			Names: configured.ProxyResolves, Except: configured.ProxyExcept}
	}
	network, err := egress.NewNetwork(options)
	if err != nil {
		return nil, fmt.Errorf("set up the network: %w", err)
	}
	return network, nil
}

// open makes the connection of a provider, with the auth that its codec wants, and
// narrowed where that is given. Errors name the file and the key.
func (a *app) open(name string, wanted egress.Auth, narrow ...func(*egress.Options)) (*egress.Client, error) {
	auth, err := a.config.Auth(name, wanted)
	if err != nil {
		return nil, err
	}
	provider := a.config.Providers[name]
	source := a.source(provider.Secret)
	options := egress.Options{BaseURL: provider.BaseURL, Region: provider.Region, Scrubber: a.scrubber, Network: a.network,
		Timeouts: egress.Timeouts{FirstByte: milliseconds(provider.FirstByteMS), Idle: milliseconds(provider.IdleMS), Total: milliseconds(provider.TimeoutMS)}}
	if provider.OAuth2 != nil {
		options.OAuth2, source = a.tokens(name, *provider.OAuth2)
	}
	if source.Get != nil {
		options.Auth, options.Secret, options.Rejected = auth, source.Get, source.Rejected
	}
	for _, change := range narrow {
		change(&options)
	}
	client, err := egress.New(options)
	if err != nil && auth.Kind == egress.AuthSigV4 {
		return nil, a.config.Mistake(err.Error(), "providers", name, "region")
	}
	if err != nil {
		return nil, a.config.Mistake(err.Error(), "providers", name)
	}
	return client, nil
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// source answers where the secret of a reference comes from; of none, nothing.
func (a *app) source(reference string) egress.Source {
	if reference == "" {
		return egress.Source{}
	}
	return egress.Source{
		Get:      func(ctx context.Context) (secret.Value, error) { return a.secrets.Resolve(ctx, reference) },
		Rejected: func(value secret.Value) { a.secrets.Rejected(reference, value) },
	}
}

// tokens answers how access tokens are fetched, and the secret that they are fetched
// with.
func (a *app) tokens(name string, o config.OAuth2) (*egress.OAuth2, egress.Source) {
	fetching := &egress.OAuth2{TokenURL: o.TokenURL, Grant: o.Grant, ClientID: o.ClientID, Scope: o.Scope, InBody: o.ClientAuth == config.ClientAuthBody}
	if o.Grant == egress.GrantClientCredentials {
		return fetching, a.source(o.ClientSecret)
	}
	fetching.ClientSecret = a.source(o.ClientSecret).Get
	fetching.Rotated = func(secret.Value) {
		a.logger.Warn("the token endpoint replaced the refresh token; the new one is kept until the host ends, and the configured one may be good for nothing then",
			"provider", name, "endpoint", o.TokenURL)
	}
	return fetching, a.source(o.RefreshToken)
}
