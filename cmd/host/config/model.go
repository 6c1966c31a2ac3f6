package config

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plinthhost/plinth/host/catalog"
	"github.com/plinthhost/plinth/session"
)

// modelTable is one [models."provider/model"] as it is written. What is left out stays
// as the catalog knows it.
type modelTable struct {
	Name         string                  `toml:"name"`
	Disabled     bool                    `toml:"disabled"`
	Context      int                     `toml:"context"` // tokens
	Output       int                     `toml:"output"`  // tokens
	Price        *priceTable             `toml:"price"`
	Capabilities []string                `toml:"capabilities"`
	System       string                  `toml:"system"` // of agents without one of their own
	Generation   generationTable         `toml:"generation"`
	Options      map[string]any          `toml:"options"`
	Headers      map[string]string       `toml:"headers"`
	FirstEventMS int                     `toml:"first_event_ms"`
	IdleMS       int                     `toml:"idle_ms"`
	Variants     map[string]variantTable `toml:"variants"`
}

// variantTable is one variant: what it changes of the model's requests.
type variantTable struct {
	Generation   generationTable   `toml:"generation"`
	Options      map[string]any    `toml:"options"`
	Headers      map[string]string `toml:"headers"`
	FirstEventMS int               `toml:"first_event_ms"`
	IdleMS       int               `toml:"idle_ms"`
}

// maxModelTokens bounds what a model is said to take, in tokens.
const maxModelTokens = 1 << 30

// models takes the tables over. The providers are there.
func (l *loader) models(tables map[string]modelTable) {
	for _, text := range slices.Sorted(maps.Keys(tables)) {
		key := join("models", text)
		ref, err := session.ParseModel(text)
		if err != nil {
			l.problem(key, nil, `a model's table is named by provider and model, like [models."openai/gpt-4o"]`)
			continue
		}
		l.choosable(key, ref)
		if l.config.Models == nil {
			l.config.Models = map[session.ModelRef]catalog.Override{}
		}
		l.config.Models[ref] = l.override(key, tables[text])
	}
}

// choosable reports a model that there is not.
func (l *loader) choosable(key string, ref session.ModelRef) {
	provider, ok := l.config.Providers[ref.Provider]
	switch {
	case ref.Provider == offline && ref.Model != offlineModel:
		l.problem(key, nil, "the provider offline has one model, %q", offline+"/"+offlineModel)
	case ref.Provider != offline && !ok:
		l.problem(key, nil, "there is no provider %q; known are %s; add a table [providers.%s]",
			ref.Provider, strings.Join(l.providerNames(), ", "), ref.Provider)
	case len(provider.Models) > 0 && !slices.Contains(provider.Models, ref.Model):
		l.problem(key, nil, "the models of %q are %s; add it to models in [providers.%s]", ref.Provider, strings.Join(provider.Models, ", "), ref.Provider)
	}
}

func (l *loader) override(key string, table modelTable) catalog.Override {
	o := catalog.Override{
		Name: table.Name, Context: int64(table.Context), Output: int64(table.Output), Disabled: table.Disabled, System: table.System,
		Request: l.request(key, variantTable{table.Generation, table.Options, table.Headers, table.FirstEventMS, table.IdleMS}),
	}
	l.within(join(key, "context"), table.Context, 0, maxModelTokens)
	l.within(join(key, "output"), table.Output, 0, maxModelTokens)
	if strings.ContainsFunc(table.Name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		l.problem(join(key, "name"), table.Name, "must be a line that can be shown")
	}
	l.systemSize(join(key, "system"), table.System)
	if table.Price != nil {
		o.Price = l.price(join(key, "price"), *table.Price)
	}
	if table.Capabilities != nil {
		var unknown string
		if o.Capabilities, unknown = catalog.ParseCapabilities(table.Capabilities); !o.Capabilities.Known {
			l.problem(join(key, "capabilities"), unknown, "must be some of %s", strings.Join(catalog.CapabilityNames(), ", "))
		}
	}
	for _, variant := range slices.Sorted(maps.Keys(table.Variants)) {
		at := join(key, "variants", variant)
		switch {
		case variant == session.VariantDefault:
			l.problem(at, nil, "the name stands for the model's own settings; choose another, or write them into [%s]", display(key))
		case !name.MatchString(variant):
			l.problem(at, nil, "a variant's name has small letters, digits, - and _ only")
		}
		if o.Variants == nil {
			o.Variants = map[string]catalog.Request{}
		}
		o.Variants[variant] = l.request(at, table.Variants[variant])
	}
	return o
}

// request takes over what a model or a variant says of requests.
func (l *loader) request(key string, table variantTable) catalog.Request {
	l.within(join(key, "first_event_ms"), table.FirstEventMS, 0, maxWait)
	l.within(join(key, "idle_ms"), table.IdleMS, 0, maxWait)
	request := catalog.Request{
		Options:    l.options(join(key, "options"), table.Options),
		Generation: l.generation(join(key, "generation"), session.Generation{}, table.Generation),
		FirstEvent: time.Duration(table.FirstEventMS) * time.Millisecond, Idle: time.Duration(table.IdleMS) * time.Millisecond,
	}
	for _, header := range slices.Sorted(maps.Keys(table.Headers)) {
		l.header(join(key, "headers", header), header, table.Headers[header])
		canonical := http.CanonicalHeaderKey(header)
		if _, again := request.Headers[canonical]; again {
			l.problem(join(key, "headers", header), nil, "is there twice; names differ in more than capital letters")
		}
		if request.Headers == nil {
			request.Headers = map[string]string{}
		}
		request.Headers[canonical] = table.Headers[header]
	}
	return request
}

// header refuses what the way out would refuse at every request. Values may be
// anything, so they are not repeated.
func (l *loader) header(key, name, value string) {
	switch http.CanonicalHeaderKey(name) {
	case "Authorization", "Cookie", "Proxy-Authorization":
		l.problem(key, nil, "has no place here; give a secret to the provider")
		return
	}
	if !headerName.MatchString(name) {
		l.problem(key, nil, "is not the name of a header")
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		l.problem(key, nil, "must be one line without control characters")
	}
}
