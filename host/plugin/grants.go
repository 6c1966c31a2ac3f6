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
)

// anyOrigin stands for every public address that permission is asked for.
const anyOrigin = "*"

// grants are what the plugin may use: what its manifest asks for. The fetcher is
// answered also beside an error.
func (m *Manager) grants(manifest abi.Manifest) (bridge.Grants, error) {
	request := manifest.Request
	grants := bridge.Grants{Roots: map[string]bridge.Access{}, KV: request.KV != nil, Process: request.Process != nil, Session: map[string]bool{}}
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
	lent := m.options.Settings[manifest.ID]
	if grants.Files = lent.Files; len(grants.Files) > 0 {
		grants.Roots[bridge.RootOperator] = bridge.AccessRead
	}
	injections, err := m.injections(manifest)
	if err != nil || len(request.HTTP)+len(lent.URLs) == 0 {
		return grants, err
	}
	addresses, err := lentAddresses(lent.URLs)
	if err != nil {
		return grants, err
	}
	policy, anywhere, err := policyOf(slices.Concat(request.HTTP, addresses))
	if err != nil {
		return grants, err
	}
	grants.AnyURL = anywhere
	grants.Fetcher, err = egress.NewFetcher(egress.FetcherOptions{
		Policy: policy, Secrets: injections, Scrubber: m.options.Scrubber, Network: m.options.Network,
	})
	return grants, err
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
// One without a reference fails where it would be used.
func (m *Manager) injections(manifest abi.Manifest) ([]egress.Injection, error) {
	references := m.options.Settings[manifest.ID].Secrets
	known := map[string]bool{}
	var injections []egress.Injection
	for _, request := range manifest.Request.Secrets {
		known[request.Handle] = true
		auth, err := bridge.AuthOf(request.Inject)
		if err != nil {
			return nil, fmt.Errorf("secret %q: %w", request.Handle, err)
		}
		injections = append(injections, egress.Injection{Handle: request.Handle, Audience: request.Audience,
			Credential: egress.Credential{Auth: auth, Source: m.source(manifest.ID, request.Handle, references[request.Handle])}})
	}
	for _, handle := range slices.Sorted(maps.Keys(references)) {
		if !known[handle] {
			return nil, fmt.Errorf("plugins.%q.secrets.%s: the plugin asks for no secret of this name", manifest.ID, handle)
		}
	}
	return injections, nil
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
