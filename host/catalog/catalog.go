// Package catalog knows models: how large their windows are, what they cost, what they
// can do and what their requests are made with.
//
// What it tells of a model is laid together from three sources, the later over the
// earlier: entries that are built in, found by the model's own name whatever provider
// serves it; what the provider's server told; what the operator configured. A number
// that none of them gives stays unknown.
package catalog

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
)

// Options configure a Catalog.
type Options struct {
	// Providers by the operator's name.
	Providers map[string]Provider
	// Configured is what the operator says of models; no Variant in the keys.
	Configured map[session.ModelRef]Override
	// Default is listed even where nothing else names it; zero for none.
	Default session.ModelRef
	Logger  hclog.Logger
	// Now is the time.
	Now func() time.Time
}

// Provider is one provider whose models may be used.
type Provider struct {
	// Models are what may be chosen; empty for any.
	Models []string
	// Fixed are the models of a provider that no configuration can add to, with what is
	// known of them. It takes the place of Models.
	Fixed map[string]Override
	// System is that of models without one of their own.
	System string
	// List asks the server for its models and yields its answers, page by page, or the
	// error that ends them. Nil when it is not asked.
	List func(ctx context.Context) iter.Seq2[Page, error]
}

// Page is one answer of a server that lists its models.
type Page struct {
	Answer []byte // at most MaxAnswer
	More   bool   // there is another one
}

// Catalog answers what is known of models. It is safe for use by several goroutines.
type Catalog struct {
	options   Options
	builtin   *builtin
	discovery map[string]*discovery // of the providers that are asked
}

var _ session.Models = (*Catalog)(nil)

// New makes a catalog. It asks no server.
func New(options Options) (*Catalog, error) {
	entries, err := readBuiltin()
	if err != nil {
		return nil, fmt.Errorf("read the builtin models: %w", err)
	}
	c := &Catalog{options: options, builtin: entries, discovery: map[string]*discovery{}}
	for name, provider := range options.Providers {
		if provider.List != nil {
			c.discovery[name] = newDiscovery(name, provider.List, options.Logger, options.Now)
		}
	}
	return c, nil
}

// Providers answers the names of the providers, ascending.
func (c *Catalog) Providers() []string { return slices.Sorted(maps.Keys(c.options.Providers)) }

// Model answers what is known of a model, with its variant's settings; session.Models
// has the errors. It asks the provider's server when that was never done.
func (c *Catalog) Model(ctx context.Context, ref session.ModelRef) (session.ModelInfo, error) {
	if err := c.check(ref); err != nil {
		return session.ModelInfo{}, err
	}
	entry := c.entry(ref, c.found(ctx, ref.Provider, false))
	if ref.Variant == "" || ref.Variant == session.VariantDefault {
		return entry.ModelInfo, nil
	}
	variant, ok := entry.variants[ref.Variant]
	if !ok {
		return session.ModelInfo{}, noVariant(ref, entry.Variants)
	}
	info := entry.ModelInfo
	info.Ref = ref
	variant.over(&info)
	return info, nil
}

// check refuses a model that may not be chosen.
func (c *Catalog) check(ref session.ModelRef) error {
	if ref.Provider == "" || ref.Model == "" {
		return &session.ModelError{Ref: ref, Reason: session.ModelNotSelected,
			Message: `no model is chosen; set model = "provider/model" in the configuration, or name one with the session or the prompt`}
	}
	unavailable := func(format string, args ...any) error {
		return &session.ModelError{Ref: ref, Reason: session.ModelUnavailable, Message: fmt.Sprintf(format, args...)}
	}
	provider, ok := c.options.Providers[ref.Provider]
	if !ok {
		return unavailable("there is no provider %q; known are %s; add a table [providers.%s]",
			ref.Provider, strings.Join(c.Providers(), ", "), ref.Provider)
	}
	if models := provider.choice(); len(models) > 0 && !slices.Contains(models, ref.Model) {
		text := fmt.Sprintf("the provider %q has no model %q to choose; there are %s", ref.Provider, ref.Model, strings.Join(models, ", "))
		if provider.Fixed == nil {
			text += fmt.Sprintf("; add it to models in [providers.%s]", ref.Provider)
		}
		return unavailable("%s", text)
	}
	if c.options.Configured[own(ref)].Disabled {
		return unavailable("the model %s is disabled in [models.%q]", own(ref), own(ref))
	}
	return nil
}

// choice answers the models that may be chosen, none for any.
func (p Provider) choice() []string {
	if p.Fixed != nil {
		return slices.Sorted(maps.Keys(p.Fixed))
	}
	return p.Models
}

// own is the model without a variant.
func own(ref session.ModelRef) session.ModelRef {
	ref.Variant = ""
	return ref
}

func noVariant(ref session.ModelRef, known []string) error {
	text := fmt.Sprintf("the model %s has no variant %q; ", own(ref), ref.Variant)
	if len(known) == 0 {
		text += fmt.Sprintf("it has none, add a table [models.%q.variants.%s]", own(ref), ref.Variant)
	} else {
		text += fmt.Sprintf("there are %s, and %s for its own settings", strings.Join(known, ", "), session.VariantDefault)
	}
	return &session.ModelError{Ref: ref, Reason: session.ModelVariant, Message: text}
}
