package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/catalog"
	"github.com/plinthhost/plinth/session"
)

// answers is a server whose answer a test sets.
type answers struct {
	mu     sync.Mutex
	text   string
	err    error
	times  int
	within time.Duration // the deadline of the last
}

func (a *answers) set(text string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text, a.err = text, err
}

func (a *answers) asked() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.times
}

func (a *answers) list(ctx context.Context) iter.Seq2[catalog.Page, error] {
	return once(func() ([]byte, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.times++
		if deadline, ok := ctx.Deadline(); ok {
			a.within = time.Until(deadline)
		}
		return []byte(a.text), a.err
	})
}

// once is a list of one page.
func once(answer func() ([]byte, error)) iter.Seq2[catalog.Page, error] {
	return func(yield func(catalog.Page, error) bool) {
		text, err := answer()
		yield(catalog.Page{Answer: text}, err)
	}
}

func names(entries []catalog.Entry) (all []string) {
	for _, entry := range entries {
		all = append(all, entry.Ref.Model)
	}
	return all
}

func TestDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &answers{text: `{"data":[{"id":"gpt-4o","max_model_len":64000},{"id":"local","name":"Local","context_length":8192}]}`}
		c := newCatalog(t, catalog.Options{
			Providers:  map[string]catalog.Provider{"p": {List: server.list}, "some": {Models: []string{"local"}, List: server.list}, "q": {}},
			Configured: map[session.ModelRef]catalog.Override{ref("p/local"): {Context: 4096}},
		})
		if _, err := c.Model(t.Context(), ref("q/gpt-4o")); err != nil || server.asked() != 0 {
			t.Fatalf("asked %d times, %v", server.asked(), err)
		}
		if got := model(t, c, ref("p/gpt-4o")); got.Context != 64000 || got.Output != 16384 || got.Name != "GPT-4o" || got.Price == nil {
			t.Errorf("the server's number over the builtin ones: %+v", got)
		}
		if got := model(t, c, ref("p/local")); got.Context != 4096 || got.Name != "Local" {
			t.Errorf("the operator's number over the server's: %+v", got)
		}
		if server.asked() != 1 || server.within != 10*time.Second {
			t.Errorf("asked %d times, within %v", server.asked(), server.within)
		}
		entries, warnings := c.List(t.Context(), catalog.Selection{})
		if diff := cmp.Diff([]string{"gpt-4o", "local", "local"}, names(entries)); diff != "" || len(warnings) > 0 {
			t.Errorf("%s, %q", diff, warnings)
		}
		if diff := cmp.Diff([]catalog.Source{catalog.Discovered, catalog.Configured}, entries[1].Sources); diff != "" {
			t.Error(diff)
		}

		server.set(`{"data":[{"id":"new"}]}`, nil)
		time.Sleep(24 * time.Hour) // nobody asks by itself
		if entries, _ := c.List(t.Context(), catalog.Selection{Provider: "p"}); len(entries) != 2 {
			t.Errorf("without refresh: %q", names(entries))
		}
		entries, _ = c.List(t.Context(), catalog.Selection{Provider: "p", Refresh: true})
		if diff := cmp.Diff([]string{"local", "new"}, names(entries)); diff != "" {
			t.Errorf("after a refresh: %s", diff)
		}
	})
}

// TestFailedDiscovery: a failure is told and changes nothing, and is tried again when a
// minute has gone by.
func TestFailedDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &answers{err: errors.New("connection to http://127.0.0.1:1 refused")}
		c := newCatalog(t, catalog.Options{Providers: map[string]catalog.Provider{"p": {List: server.list}}, Default: ref("p/gpt-4o")})
		const refused = "the provider p did not list its models: connection to http://127.0.0.1:1 refused"
		list := func(refresh bool, want string, models ...string) {
			t.Helper()
			entries, warnings := c.List(t.Context(), catalog.Selection{Refresh: refresh})
			if diff := cmp.Diff(models, names(entries)); diff != "" {
				t.Error(diff)
			}
			if got := strings.Join(warnings, "\n"); got != want {
				t.Errorf("warned of %q, want %q", got, want)
			}
		}
		list(false, refused, "gpt-4o")
		if got := model(t, c, ref("p/gpt-4o")); got.Context != 128000 {
			t.Errorf("the builtin entry is %+v", got)
		}
		list(false, refused, "gpt-4o")
		time.Sleep(time.Minute - time.Nanosecond)
		list(false, refused, "gpt-4o")
		if server.asked() != 1 {
			t.Errorf("asked %d times within the minute", server.asked())
		}
		time.Sleep(time.Nanosecond)
		server.set(`{"data":[{"id":"a"}]}`, nil)
		list(false, "", "a", "gpt-4o")
		if server.asked() != 2 {
			t.Errorf("asked %d times after the minute", server.asked())
		}
		server.set("<html>", nil)
		list(true, "the provider p did not list its models: the answer is not a list of models in JSON; is the base URL that of an API?", "a", "gpt-4o")
		time.Sleep(time.Hour)
		list(false, "the provider p did not list its models: the answer is not a list of models in JSON; is the base URL that of an API?", "a", "gpt-4o")
		if server.asked() != 3 {
			t.Errorf("asked %d times, where there is something to go on with", server.asked())
		}
		list(true, "the provider p did not list its models: the answer is not a list of models in JSON; is the base URL that of an API?", "a", "gpt-4o")
	})
}

// TestDiscoveryTakesTime: one asks at a time, the others take what came of it, and who
// gives up leaves no trace.
func TestDiscoveryTakesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var times atomic.Int32
		slow := func(ctx context.Context) iter.Seq2[catalog.Page, error] {
			return once(func() ([]byte, error) {
				times.Add(1)
				select {
				case <-time.After(8 * time.Second):
					return []byte(`{"data":[{"id":"a","max_model_len":7}]}`), nil
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			})
		}
		c := newCatalog(t, catalog.Options{Providers: map[string]catalog.Provider{"p": {List: slow}}})
		hasty, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if entries, warnings := c.List(hasty, catalog.Selection{}); len(entries)+len(warnings) > 0 {
			t.Errorf("given up: %v, %q", entries, warnings)
		}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if got := model(t, c, ref("p/a")); got.Context != 7 {
					t.Errorf("%+v", got)
				}
			})
		}
		all.Wait()
		if times.Load() != 2 {
			t.Errorf("asked %d times, want once given up and once for all", times.Load())
		}
	})
}

func TestDiscoveryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context) iter.Seq2[catalog.Page, error] {
			return once(func() ([]byte, error) { <-ctx.Done(); return nil, context.Cause(ctx) })
		}
		c := newCatalog(t, catalog.Options{Providers: map[string]catalog.Provider{"p": {List: hang}, "q": {List: hang}}})
		begin := time.Now()
		_, warnings := c.List(t.Context(), catalog.Selection{})
		if took := time.Since(begin); took != 10*time.Second {
			t.Errorf("took %v", took)
		}
		want := []string{"the provider p did not list its models: it took more than 10s", "the provider q did not list its models: it took more than 10s"}
		if diff := cmp.Diff(want, warnings); diff != "" {
			t.Error(diff)
		}
	})
}

// TestListsOfSeveralPages: their models are one list, as far as the limits let it, and a
// page that fails fails the whole.
func TestListsOfSeveralPages(t *testing.T) {
	page := func(first, models int) string {
		var list []string
		for i := range models {
			list = append(list, fmt.Sprintf(`{"id":"m%04d"}`, first+i))
		}
		return `{"data":[` + strings.Join(list, ",") + `]}`
	}
	endless := func(models int) func(int) (string, bool, error) {
		return func(at int) (string, bool, error) { return page(at*models, models), true, nil }
	}
	for name, c := range map[string]struct {
		page   func(at int) (answer string, more bool, err error)
		asked  int
		models int
		warns  string
	}{
		"three":          {func(at int) (string, bool, error) { return page(at*7, 10), at < 2, nil }, 3, 24, ""},
		"an empty one":   {func(at int) (string, bool, error) { return page(0, 0), at < 1, nil }, 2, 0, ""},
		"one large":      {func(int) (string, bool, error) { return page(0, 1007), false, nil }, 1, 1000, "the provider p lists 1007 models; the first 1000 are taken"},
		"many models":    {endless(300), 4, 1000, "the provider p lists more than 1000 models; the first 1000 are taken"},
		"many pages":     {endless(2), 20, 40, "the provider p lists its models on more than 20 pages; those of the first 20 are taken"},
		"just so many":   {func(at int) (string, bool, error) { return page(at*2, 2), at < 19, nil }, 20, 40, ""},
		"one that fails": {func(at int) (string, bool, error) { return page(at, 1), true, []error{nil, errors.New("no")}[at] }, 2, 0, "the provider p did not list its models: no"},
		"one that is no list": {func(at int) (string, bool, error) { return []string{page(0, 1), "<html>"}[at], true, nil }, 2, 0,
			"the provider p did not list its models: the answer is not a list of models in JSON; is the base URL that of an API?"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			list := func(context.Context) iter.Seq2[catalog.Page, error] {
				return func(yield func(catalog.Page, error) bool) {
					for more := true; more; asked++ {
						var answer string
						var err error
						answer, more, err = c.page(asked)
						if !yield(catalog.Page{Answer: []byte(answer), More: more}, err) {
							asked++
							return
						}
					}
				}
			}
			entries, warnings := newCatalog(t, catalog.Options{Providers: map[string]catalog.Provider{"p": {List: list}}}).List(t.Context(), catalog.Selection{})
			if asked != c.asked || len(entries) != c.models || strings.Join(warnings, "\n") != c.warns {
				t.Errorf("%d pages, %d models, %q", asked, len(entries), warnings)
			}
		})
	}
}
