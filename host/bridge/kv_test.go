package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

func TestValuesAreKept(t *testing.T) {
	r := newRig(t).stored(t)
	steps := []struct{ operation, request, want string }{
		{"kv.get", `{"key":"a"}`, `{"error":{"kind":"not_found","message":"there is no key \"a\""}}`},
		{"kv.set", `{"key":"a","value":{"n":[1,2]},"version":3}`, `{"ok":{}}`},
		{"kv.get", `{"key":"a"}`, `{"ok":{"value":{"n":[1,2]},"version":3}}`},
		{"kv.get", `{"key":"a","scope":"global"}`, `{"ok":{"value":{"n":[1,2]},"version":3}}`},
		{"kv.get", `{"key":"a","scope":"session"}`, `{"error":{"kind":"not_found","message":"there is no key \"a\""}}`},
		{"kv.set", `{"key":"a","value":"mine","scope":"session"}`, `{"ok":{}}`},
		{"kv.get", `{"key":"a","scope":"session"}`, `{"ok":{"value":"mine","version":0}}`},
		{"kv.set", `{"key":"a","value":null}`, `{"ok":{}}`},
		{"kv.get", `{"key":"a"}`, `{"ok":{"value":null,"version":0}}`},
		{"kv.set", `{"key":"b/1","value":1}`, `{"ok":{}}`},
		{"kv.set", `{"key":"b/2","value":1}`, `{"ok":{}}`},
		{"kv.set", `{"key":"ä","value":1}`, `{"ok":{}}`},
		{"kv.list", `{}`, `{"ok":{"keys":["a","b/1","b/2","ä"]}}`},
		{"kv.list", `{"limit":2}`, `{"ok":{"keys":["a","b/1"],"more":true}}`},
		{"kv.list", `{"limit":2,"after":"b/1"}`, `{"ok":{"keys":["b/2","ä"]}}`},
		{"kv.list", `{"prefix":"b/"}`, `{"ok":{"keys":["b/1","b/2"]}}`},
		{"kv.list", `{"prefix":"b/","after":"b/2"}`, `{"ok":{"keys":[]}}`},
		{"kv.list", `{"scope":"session"}`, `{"ok":{"keys":["a"]}}`},
		{"kv.delete", `{"key":"a"}`, `{"ok":{}}`},
		{"kv.delete", `{"key":"a"}`, `{"ok":{}}`},
		{"kv.get", `{"key":"a"}`, `{"error":{"kind":"not_found","message":"there is no key \"a\""}}`},
		{"kv.get", `{"key":"a","scope":"session"}`, `{"ok":{"value":"mine","version":0}}`},
		{"kv.get", `{"key":"a","scope":"everyone"}`, `{"error":{"kind":"invalid_input","message":"scope is \"everyone\"; it must be global or session"}}`},
		{"kv.set", `{"key":"a"}`, `{"error":{"kind":"invalid_input","message":"value is missing"}}`},
		{"kv.set", `{"key":"a","value":1,"version":-1}`, `{"error":{"kind":"invalid_input","message":"version is -1; it must not be negative"}}`},
	}
	for i, step := range steps {
		if diff := cmp.Diff(step.want, r.ask(t, step.operation, step.request)); diff != "" {
			t.Errorf("step %d, %s %s: %s", i, step.operation, step.request, diff)
		}
	}
}

func TestKeysAreBounded(t *testing.T) {
	r := newRig(t).stored(t)
	for _, operation := range []string{"kv.get", "kv.set", "kv.delete"} {
		for _, key := range []string{"", strings.Repeat("k", MaxKVKey+1)} {
			request := map[string]any{"key": key}
			if operation == "kv.set" {
				request["value"] = 1
			}
			want := fmt.Sprintf("key has %d bytes; it must have 1 to 256 of UTF-8", len(key))
			if refused := failure(t, r.ask(t, operation, encoded(t, request))); refused.Kind != abi.KindInvalidInput || refused.Message != want {
				t.Errorf("%s: %+v", operation, refused)
			}
		}
	}
	longest := strings.Repeat("k", MaxKVKey)
	r.ask(t, "kv.set", encoded(t, abi.KVSet{Key: longest, Value: json.RawMessage("1")}))
	if got := r.ask(t, "kv.get", encoded(t, abi.KVGet{Key: longest})); got != `{"ok":{"value":1,"version":0}}` {
		t.Error(got)
	}
	for _, field := range []string{"prefix", "after"} {
		refused := failure(t, r.ask(t, "kv.list", encoded(t, map[string]string{field: longest + "k"})))
		if refused.Kind != abi.KindInvalidInput || !strings.Contains(refused.Message, field+" has 257 bytes") {
			t.Errorf("%+v", refused)
		}
	}
}

// A scope has one mebibyte, keys and values together; what is replaced or deleted
// gives its room back, and a scope that was stored before is measured first.
func TestAScopeIsBounded(t *testing.T) {
	r := newRig(t).stored(t)
	kv := r.reach.Store.kv
	const wrapper = len(`{"version":0,"value":""}`)
	set := func(scope, key string, size int) abi.Error {
		value := encoded(t, strings.Repeat("x", size-wrapper-len(key)))
		return failure(t, r.ask(t, "kv.set", encoded(t, abi.KVSet{Scope: scope, Key: key, Value: json.RawMessage(value)})))
	}
	steps := []struct {
		scope, key string
		size       int
		fits       bool
	}{
		{"global", "a", 600 << 10, true},
		{"global", "b", 424<<10 + 1, false},
		{"global", "b", 424 << 10, true},
		{"global", "c", 100, false},
		{"session", "c", 1000 << 10, true},
		{"global", "a", 600<<10 + 1, false},
		{"global", "a", 500 << 10, true},
		{"global", "c", 100 << 10, true},
		{"global", "d", 100, false},
	}
	for i, step := range steps {
		refused := set(step.scope, step.key, step.size)
		if step.fits != (refused.Kind == "") || !step.fits && (refused.Kind != abi.KindLimit || !strings.Contains(refused.Message, "the most is 1048576 in a scope")) {
			t.Errorf("step %d: %+v", i, refused)
		}
	}
	r.reach.Store = NewPluginStore(kv) // as after a start of the host
	if refused := set("global", "d", 100); refused.Kind != abi.KindLimit {
		t.Errorf("after a start: %+v", refused)
	}
	r.ask(t, "kv.delete", `{"key":"c"}`)
	if refused := set("global", "d", 100<<10); refused.Kind != "" {
		t.Errorf("after a deletion: %+v", refused)
	}
}

// Writes side by side stay within the bound together.
func TestWritesSideBySideStayWithinTheBound(t *testing.T) {
	r := newRig(t).stored(t)
	value := []byte(encoded(t, strings.Repeat("x", 100<<10)))
	var group sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	for i := range 20 {
		group.Go(func() {
			if err := r.reach.Store.set(t.Context(), "plugin:acme/test", fmt.Sprint(i), value); err != nil {
				mu.Lock()
				defer mu.Unlock()
				refused++
			}
		})
	}
	group.Wait()
	keys, err := r.reach.Store.kv.List(t.Context(), "plugin:acme/test", "", "", 100)
	if err != nil || len(keys) != 10 || refused != 10 {
		t.Errorf("%d are stored, %d were refused, %v", len(keys), refused, err)
	}
}

// A page has at most a thousand keys, whatever is asked for.
func TestAPageOfKeysIsBounded(t *testing.T) {
	r := newRig(t)
	keys := make([]string, 1500)
	for i := range keys {
		keys[i] = fmt.Sprintf("%04d", i)
	}
	r.reach.Store = NewPluginStore(fixedKV{keys: keys})
	for _, limit := range []int{0, -1, 1001, 1 << 40} {
		listed := read[abi.KVListed](t, r.ask(t, "kv.list", encoded(t, abi.KVList{Limit: limit})))
		if len(listed.Keys) != MaxKVPage || !listed.More {
			t.Errorf("limit %d: %d keys, %t", limit, len(listed.Keys), listed.More)
		}
	}
}

// What fails below is told, and what may have been stored is measured again.
func TestAStoreThatFails(t *testing.T) {
	r := newRig(t)
	broken := &fixedKV{fails: errors.New("disk full")}
	r.reach.Store = NewPluginStore(broken)
	for operation, request := range map[string]string{"kv.get": `{"key":"k"}`, "kv.set": `{"key":"k","value":1}`, "kv.delete": `{"key":"k"}`, "kv.list": `{}`} {
		if refused := failure(t, r.ask(t, operation, request)); refused.Kind != abi.KindFailed || refused.Message != "disk full" {
			t.Errorf("%s: %+v", operation, refused)
		}
	}
	r.reach.Store = NewPluginStore(fixedKV{value: []byte("rubbish")})
	if refused := failure(t, r.ask(t, "kv.get", `{"key":"k"}`)); refused.Kind != abi.KindFailed || !strings.HasPrefix(refused.Message, "read the stored value: ") {
		t.Errorf("%+v", refused)
	}
}

// Two plugins, and two sessions of one, have stores of their own, also where one's
// name could be read as another's with a session.
func TestStoresAreApart(t *testing.T) {
	r := newRig(t).stored(t)
	type owner struct{ plugin, session, scope string }
	owners := []owner{
		{"acme/test", "ses_1", "global"}, {"acme/other", "ses_1", "global"}, {"acme/test2", "ses_1", "global"},
		{"acme/test", "ses_1", "session"}, {"acme/test", "ses_2", "session"}, {"acme/other", "ses_1", "session"},
	}
	as := func(o owner, operation string, request map[string]any) string {
		r.plugin.ID, request["scope"] = o.plugin, o.scope
		return r.askIn(t, session.ToolCall{Session: o.session}, operation, encoded(t, request))
	}
	for i, o := range owners {
		as(o, "kv.set", map[string]any{"key": fmt.Sprint("key", i), "value": i})
	}
	for i, o := range owners {
		if listed := read[abi.KVListed](t, as(o, "kv.list", map[string]any{})); !cmp.Equal(listed.Keys, []string{fmt.Sprint("key", i)}) {
			t.Errorf("%+v sees %v", o, listed.Keys)
		}
		for j := range owners {
			key := fmt.Sprint("key", j)
			if found := failure(t, as(o, "kv.get", map[string]any{"key": key})).Kind == ""; found != (i == j) {
				t.Errorf("%+v finds %s: %t", o, key, found)
			}
			if i != j {
				as(o, "kv.delete", map[string]any{"key": key})
			}
		}
	}
}

// fixedKV answers what it is told to.
type fixedKV struct {
	store.KV
	keys  []string
	value []byte
	fails error
}

func (f fixedKV) Get(context.Context, string, string) ([]byte, error) { return f.value, f.fails }
func (f fixedKV) Set(context.Context, string, string, []byte) error   { return f.fails }
func (f fixedKV) Delete(context.Context, string, string) error        { return f.fails }
func (f fixedKV) List(_ context.Context, _, _, _ string, limit int) ([]string, error) {
	return f.keys[:min(limit, len(f.keys))], f.fails
}
