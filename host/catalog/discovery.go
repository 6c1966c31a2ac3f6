package catalog

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// What asking a server may take.
const (
	MaxAnswer  = 1 << 20 // bytes of an answer
	maxModels  = 1000    // of all answers; the rest is left out
	maxPages   = 20      // of a list; the rest is not asked for
	maxWait    = 10 * time.Second
	retryAfter = time.Minute // between attempts that nobody asked for, after one that failed
)

// listing is what a server told of its models, by name. It is not changed.
type listing struct {
	models map[string]Override
	// warning says why the last attempt brought nothing, or not all; models are then of
	// an earlier one.
	warning string
}

// discovery asks one provider's server and keeps what it said.
type discovery struct {
	provider string
	list     func(ctx context.Context) iter.Seq2[Page, error]
	logger   hclog.Logger
	now      func() time.Time
	asking   chan struct{} // holds a token while somebody asks

	mu       sync.Mutex
	latest   listing
	attempts int
	last     time.Time // of the last attempt
}

func newDiscovery(provider string, list func(ctx context.Context) iter.Seq2[Page, error], logger hclog.Logger, now func() time.Time) *discovery {
	return &discovery{provider: provider, list: list, logger: logger, now: now, asking: make(chan struct{}, 1)}
}

// get answers what the server told. It asks first with refresh, when that was never
// done, and a while after nothing came of it. One asks at a time; who waited for
// another takes what came of that.
func (d *discovery) get(ctx context.Context, refresh bool) listing {
	known, attempts, due := d.known()
	if !due && !refresh {
		return known
	}
	select {
	case d.asking <- struct{}{}:
		defer func() { <-d.asking }()
	case <-ctx.Done():
		return known
	}
	if known, now, _ := d.known(); now != attempts {
		return known
	}
	return d.ask(ctx)
}

func (d *discovery) known() (known listing, attempts int, due bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	due = d.attempts == 0 || d.latest.models == nil && d.now().Sub(d.last) >= retryAfter
	return d.latest, d.attempts, due
}

// ask makes one attempt. A failed one changes nothing but the warning; one that the
// caller gave up is as if it had not been made.
func (d *discovery) ask(ctx context.Context) listing {
	limited, cancel := context.WithTimeoutCause(ctx, maxWait, fmt.Errorf("it took more than %v", maxWait))
	defer cancel()
	told, err := d.pages(limited)
	if ctx.Err() != nil {
		known, _, _ := d.known()
		return known
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.attempts++
	d.last = d.now()
	if err != nil {
		d.latest.warning = fmt.Sprintf("the provider %s did not list its models: %v", d.provider, err)
		d.logger.Warn("models not listed", "provider", d.provider, "error", err)
		return d.latest
	}
	d.latest = told
	return d.latest
}

// pages reads the server's list as far as the limits let it.
func (d *discovery) pages(ctx context.Context) (told listing, err error) {
	told.models = map[string]Override{}
	rest, pages := 0, 0
	for page, err := range d.list(ctx) {
		if err != nil {
			return listing{}, err
		}
		models, err := parseAnswer(page.Answer)
		if err != nil {
			return listing{}, err
		}
		rest += told.take(models)
		pages++
		switch {
		case page.More && len(told.models) == maxModels:
			told.warning = fmt.Sprintf("the provider %s lists more than %d models; the first %d are taken", d.provider, maxModels, maxModels)
			return told, nil
		case page.More && pages == maxPages:
			told.warning = fmt.Sprintf("the provider %s lists its models on more than %d pages; those of the first %d are taken", d.provider, maxPages, maxPages)
			return told, nil
		}
	}
	if rest > 0 {
		told.warning = fmt.Sprintf("the provider %s lists %d models; the first %d are taken", d.provider, maxModels+rest, maxModels)
	}
	return told, nil
}

// take adds the models that are new, while there is room, and answers how many more
// there were.
func (l *listing) take(models []found) (rest int) {
	for _, model := range models {
		switch _, again := l.models[model.name]; {
		case again:
		case len(l.models) == maxModels:
			rest++
		default:
			l.models[model.name] = model.override
		}
	}
	return rest
}
