package catalog

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/plinthhost/plinth/session"
)

// Override is what one source says of a model. Zero and nil fields leave what others
// say.
type Override struct {
	Name         string
	Context      int64 // tokens
	Output       int64 // tokens
	Price        *session.Price
	Capabilities session.Capabilities // all of them, when Known
	System       string               // told to agents without a system text
	Request                           // of the model's own
	// Variants are further settings by name; none is session.VariantDefault.
	Variants map[string]Request
	// Disabled keeps the model from being chosen.
	Disabled bool
}

// Request is what requests are made with. Zero and nil fields leave what others say.
type Request struct {
	Generation session.Generation
	Options    map[string]json.RawMessage // by name
	Headers    map[string]string          // names differ whatever their case
	FirstEvent time.Duration
	Idle       time.Duration
}

// Entry is a model as lists show it.
type Entry struct {
	session.ModelInfo
	Variants []string // names, ascending
	Sources  []Source // that know of it, in their order; none: it can be chosen and nothing is known

	variants map[string]Request
}

// Source is where an entry, or a part of it, comes from.
type Source string

// The sources, the later over the earlier.
const (
	Builtin    Source = "builtin"
	Discovered Source = "discovered" // told by the provider's server
	Configured Source = "configured"
)

// Selection says which models to list.
type Selection struct {
	Provider string // of this one; "" for all
	Refresh  bool   // ask the servers again
}

// List answers the models that may be chosen and are known by name, by provider and
// name, and what kept servers from telling theirs, for people. Other models may be
// there where a provider takes any.
func (c *Catalog) List(ctx context.Context, selection Selection) (entries []Entry, warnings []string) {
	var names []string
	for name := range c.options.Providers {
		if selection.Provider == "" || name == selection.Provider {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	listings := make([]listing, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		asking.Go(func() { listings[i] = c.found(ctx, name, selection.Refresh) })
	}
	asking.Wait()
	for i, name := range names {
		for _, model := range c.names(name, listings[i]) {
			ref := session.ModelRef{Provider: name, Model: model}
			if c.check(ref) == nil {
				entries = append(entries, c.entry(ref, listings[i]))
			}
		}
		if listings[i].warning != "" {
			warnings = append(warnings, listings[i].warning)
		}
	}
	return entries, warnings
}

// names answers the models that a source names, ascending.
func (c *Catalog) names(provider string, told listing) []string {
	names := slices.Clone(c.options.Providers[provider].choice())
	names = slices.AppendSeq(names, maps.Keys(told.models))
	for ref := range c.options.Configured {
		if ref.Provider == provider {
			names = append(names, ref.Model)
		}
	}
	if c.options.Default.Provider == provider {
		names = append(names, c.options.Default.Model)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// found answers what the provider's server told.
func (c *Catalog) found(ctx context.Context, provider string, refresh bool) listing {
	if d := c.discovery[provider]; d != nil {
		return d.get(ctx, refresh)
	}
	return listing{}
}

// entry lays together what the sources say of a model, without a variant.
func (c *Catalog) entry(ref session.ModelRef, told listing) Entry {
	ref = own(ref)
	e := Entry{ModelInfo: session.ModelInfo{Ref: ref, System: c.options.Providers[ref.Provider].System}, variants: map[string]Request{}}
	if known, ok := c.options.Providers[ref.Provider].Fixed[ref.Model]; ok {
		e.add(Builtin, known)
	} else if known, ok := c.builtin.find(ref.Model); ok {
		e.add(Builtin, known)
	}
	if known, ok := told.models[ref.Model]; ok {
		e.add(Discovered, known)
	}
	if known, ok := c.options.Configured[ref]; ok {
		e.add(Configured, known)
	}
	e.Variants = slices.Sorted(maps.Keys(e.variants))
	return e
}

// add lays what a source says over what is there.
func (e *Entry) add(source Source, o Override) {
	e.Sources = append(e.Sources, source)
	set(&e.Name, o.Name)
	set(&e.Context, o.Context)
	set(&e.Output, o.Output)
	set(&e.Price, o.Price)
	set(&e.Capabilities, o.Capabilities)
	set(&e.System, o.System)
	o.over(&e.ModelInfo)
	maps.Copy(e.variants, o.Variants)
}

func set[T comparable](to *T, from T) {
	var zero T
	if from != zero {
		*to = from
	}
}

// over lays the settings over those of info: numbers each, options and headers by
// name. What info held before is not changed.
func (r Request) over(info *session.ModelInfo) {
	set(&info.Generation.MaxTokens, r.Generation.MaxTokens)
	set(&info.Generation.Temperature, r.Generation.Temperature)
	set(&info.Generation.TopP, r.Generation.TopP)
	set(&info.Generation.Seed, r.Generation.Seed)
	if r.Generation.Stop != nil {
		info.Generation.Stop = slices.Clone(r.Generation.Stop)
	}
	if len(r.Options) > 0 {
		options := make(map[string]json.RawMessage, len(info.Options)+len(r.Options))
		maps.Copy(options, info.Options)
		maps.Copy(options, r.Options)
		info.Options = options
	}
	if len(r.Headers) > 0 {
		headers := make(map[string]string, len(info.Headers)+len(r.Headers))
		maps.Copy(headers, info.Headers)
		for name, value := range r.Headers {
			headers[http.CanonicalHeaderKey(name)] = value
		}
		info.Headers = headers
	}
	set(&info.FirstEvent, r.FirstEvent)
	set(&info.Idle, r.Idle)
}
