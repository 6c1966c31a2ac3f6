package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/catalog"
	"github.com/plinthhost/plinth/host/offline"
	"github.com/plinthhost/plinth/session"
)

// offlineContext is the window of the offline model, in tokens: a size that real models
// have.
const offlineContext = 128_000

// openCatalog makes the catalog of the configured providers and the offline one.
func (a *app) openCatalog() error {
	known := catalog.Override{Name: "Fixed rules, no model", Context: offlineContext, Price: &session.Price{},
		Capabilities: session.Capabilities{Known: true, Tools: true}}
	providers := map[string]catalog.Provider{offline.Name: {Fixed: map[string]catalog.Override{offline.Model: known}}}
	for name, configured := range a.config.Providers {
		provider := catalog.Provider{Models: configured.Models, System: configured.System}
		if configured.Discover {
			provider.List = a.lister(name)
		}
		providers[name] = provider
	}
	var err error
	a.catalog, err = catalog.New(catalog.Options{Providers: providers, Configured: a.config.Models, Default: a.config.Model,
		Logger: a.logger.Named("catalog"), Now: time.Now})
	a.models = a.catalog
	return err
}

// modelService is server.Models.
type modelService struct{ *backend }

func (b modelService) List(ctx context.Context, request protocol.ListModels) (protocol.ModelList, error) {
	if known := b.catalog.Providers(); request.Provider != "" && !slices.Contains(known, request.Provider) {
		return protocol.ModelList{}, protocol.Errorf(protocol.NotFound, "there is no provider %q; known are %s", oneLine(request.Provider, 64), strings.Join(known, ", "))
	}
	entries, warnings := b.catalog.List(ctx, catalog.Selection{Provider: request.Provider, Refresh: request.Refresh})
	list := protocol.ModelList{Models: make([]protocol.Model, len(entries)), Warnings: warnings}
	for i, entry := range entries {
		list.Models[i] = wireEntry(entry)
	}
	return list, nil
}

func wireEntry(e catalog.Entry) protocol.Model {
	wire := protocol.Model{ID: e.Ref.String(), Provider: e.Ref.Provider, Model: e.Ref.Model, Name: e.Name, Context: e.Context, Output: e.Output,
		Capabilities: catalog.FormatCapabilities(e.Capabilities), Variants: e.Variants, Sources: []protocol.ModelSource{}}
	for _, source := range e.Sources {
		wire.Sources = append(wire.Sources, protocol.ModelSource(source))
	}
	if e.Price != nil {
		wire.Price = wirePrice(*e.Price)
	}
	return wire
}

func wirePrice(p session.Price) *protocol.ModelPrice {
	wire := &protocol.ModelPrice{Input: session.FormatDollars(p.Input), Output: session.FormatDollars(p.Output),
		CacheRead: session.FormatDollars(p.CacheRead), CacheWrite: session.FormatDollars(p.CacheWrite)}
	for _, tier := range p.Tiers {
		wire.Tiers = append(wire.Tiers, protocol.PriceTier{Above: tier.Above, Input: session.FormatDollars(tier.Input), Output: session.FormatDollars(tier.Output),
			CacheRead: session.FormatDollars(tier.CacheRead), CacheWrite: session.FormatDollars(tier.CacheWrite)})
	}
	return wire
}
