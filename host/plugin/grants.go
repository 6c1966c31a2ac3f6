package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/secret"
	"github.com/plinthhost/plinth/host/trust"
)

// anyOrigin stands for every public address that permission is asked for.
const anyOrigin = trust.AnyOrigin

// grants are what the plugin may use under its terms: what its manifest asks for and is
// granted, and what the operator lends. The fetcher is answered also beside an error.
func (m *Manager) grants(manifest abi.Manifest, terms Terms) (bridge.Grants, error) {
	keys := terms.Grants
	narrow, err := trust.Narrow(manifest, keys)
	if err != nil {
		return bridge.Grants{}, err
	}
	withheld, err := trust.Withheld(manifest, keys)
	if err != nil {
		return bridge.Grants{}, err
	}
	request := narrow.Request
	grants := bridge.Grants{Roots: map[string]bridge.Access{}, KV: request.KV != nil, Process: request.Process != nil, Session: map[string]bool{}}
	for _, one := range withheld {
		grants.Withheld = append(grants.Withheld, one.RequestRecord)
	}
	for _, one := range request.FS {
		if grants.Roots[one.Root] != bridge.AccessWrite {
			grants.Roots[one.Root] = bridge.Access(one.Access)
		}
	}
	if request.Session != nil {
		for _, operation := range request.Session.Operations {
			grants.Session[operation] = true
		}
	}
	if grants.Files = terms.Files; len(grants.Files) > 0 {
		grants.Roots[bridge.RootOperator] = bridge.AccessRead
	}
	err = m.allowFetches(&grants, manifest, terms, request.HTTP)
	return grants, err
}

// allowFetches gives the grants their fetcher, when there is something to fetch. Secrets
// that were not granted are known to it, so that a request with one is refused.
func (m *Manager) allowFetches(grants *bridge.Grants, manifest abi.Manifest, terms Terms, requests []abi.ManifestHTTP) error {
	injections, err := m.injections(manifest, terms, grants.Withheld)
	if err != nil || len(requests)+len(terms.URLs) == 0 {
		return err
	}
	addresses, err := lentAddresses(terms.URLs)
	if err != nil {
		return err
	}
	policy, anywhere, err := policyOf(slices.Concat(requests, addresses))
	if err != nil {
		return err
	}
	grants.AnyURL = anywhere
	grants.Fetcher, err = egress.NewFetcher(egress.FetcherOptions{
		Policy: policy, Secrets: injections, Scrubber: m.options.Scrubber, Network: m.options.Network,
	})
	return err
}

// lentAddresses are requests for what the operator lends: each address, to be read.
func lentAddresses(urls []string) ([]abi.ManifestHTTP, error) {
	var requests []abi.ManifestHTTP
	for _, url := range urls {
		target, err := egress.ParseURL(url)
		if err != nil {
			return nil, err
		}
		requests = append(requests, abi.ManifestHTTP{Origins: []string{target.Origin.String()}, Methods: []string{"GET"},
			Paths: []string{strings.ReplaceAll(target.Path, "*", "%2A")}})
	}
	return requests, nil
}

// policyOf compiles the requests for addresses, and reports whether any other may be
// asked for.
func policyOf(requests []abi.ManifestHTTP) (policy *egress.Policy, anywhere bool, err error) {
	var grants []egress.Grant
	for _, request := range requests {
		if len(request.Origins) == 1 && request.Origins[0] == anyOrigin {
			anywhere = true
			continue
		}
		grants = append(grants, egress.Grant{Origins: request.Origins, Methods: request.Methods, Paths: request.Paths})
	}
	policy, err = egress.NewPolicy(grants...)
	return policy, anywhere, err
}

// injections join the manifest's secret requests with the operator's references.
// One without a reference, or without the grant, fails where it would be used.
func (m *Manager) injections(manifest abi.Manifest, terms Terms, withheld []trust.RequestRecord) ([]egress.Injection, error) {
	references := terms.Secrets
	known := map[string]bool{}
	var injections []egress.Injection
	for _, request := range manifest.Request.Secrets {
		known[request.Handle] = true
		auth, err := bridge.AuthOf(request.Inject)
		if err != nil {
			return nil, fmt.Errorf("secret %q: %w", request.Handle, err)
		}
		source := m.source(manifest.ID, request.Handle, references[request.Handle])
		for _, one := range withheld {
			if one.Kind == trust.KindSecret && one.Handle == request.Handle {
				source = refused(manifest.ID, one.Key)
			}
		}
		injections = append(injections, egress.Injection{Handle: request.Handle, Audience: request.Audience,
			Credential: egress.Credential{Auth: auth, Source: source}})
	}
	for _, handle := range slices.Sorted(maps.Keys(references)) {
		if !known[handle] {
			return nil, fmt.Errorf("plugins.%q.secrets.%s: the plugin asks for no secret of this name", manifest.ID, handle)
		}
	}
	return injections, nil
}

// refused is the source of a secret that was not granted.
func refused(id, key string) egress.Source {
	return egress.Source{Get: func(context.Context) (secret.Value, error) {
		return secret.Value{}, &egress.Error{Kind: egress.KindPolicy, Text: trust.Refusal(id, key)}
	}}
}

func (m *Manager) source(id, handle, reference string) egress.Source {
	if reference == "" || m.options.Secret == nil {
		return egress.Source{Get: func(context.Context) (secret.Value, error) {
			return secret.Value{}, fmt.Errorf("the secret %q of the plugin %s is not configured; give it in [plugins.%q.secrets]", handle, id, id)
		}}
	}
	return egress.Source{
		Get: func(ctx context.Context) (secret.Value, error) { return m.options.Secret(ctx, reference) },
		Rejected: func(value secret.Value) {
			if m.options.Rejected != nil {
				m.options.Rejected(reference, value)
			}
		},
	}
}
