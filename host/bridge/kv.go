package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/trust"
	"github.com/plinthhost/plinth/store"
)

// Limits of a plugin's store.
const (
	MaxKVBytes = 1 << 20 // keys and values of one scope together
	MaxKVKey   = 256     // bytes
	MaxKVPage  = 1000    // keys of one kv.list
)

// PluginStore keeps the values of plugins, each plugin's and each session's apart,
// and bounds them. It is safe for use by several goroutines.
type PluginStore struct {
	kv store.KV

	burying sync.Mutex // orders what becomes of removed plugins' values

	mu     sync.Mutex
	scopes map[string]*scope // by namespace
}

// scope is what is stored under one namespace. Its lock orders the writes.
type scope struct {
	users int // who hold it; under the store's lock
	mu    sync.Mutex
	sizes map[string]int // by key; nil until they were read
	total int
}

// maxScopes is how many scopes that nobody writes to are remembered.
const maxScopes = 1000

// NewPluginStore keeps values in kv.
func NewPluginStore(kv store.KV) *PluginStore {
	return &PluginStore{kv: kv, scopes: map[string]*scope{}}
}

// stored is a value as it is kept.
type stored struct {
	Version int             `json:"version"`
	Value   json.RawMessage `json:"value"`
}

// hold answers the locked scope of a namespace; the caller calls release.
func (s *PluginStore) hold(namespace string) (at *scope, release func()) {
	s.mu.Lock()
	at = s.scopes[namespace]
	if at == nil {
		at = &scope{}
		s.scopes[namespace] = at
	}
	at.users++
	s.mu.Unlock()
	at.mu.Lock()
	return at, func() {
		at.mu.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		if at.users--; at.users == 0 && len(s.scopes) > maxScopes {
			delete(s.scopes, namespace)
		}
	}
}

// set stores a value, or refuses it when the scope would be too large.
func (s *PluginStore) set(ctx context.Context, namespace, key string, value []byte) error {
	at, release := s.hold(namespace)
	defer release()
	if err := at.load(ctx, s.kv, namespace); err != nil {
		return err
	}
	size := len(key) + len(value)
	if total := at.total - at.sizes[key] + size; total > MaxKVBytes {
		return refuse(abi.KindLimit, "the plugin's store would have %d bytes; the most is %d in a scope", total, MaxKVBytes)
	}
	if err := s.kv.Set(ctx, namespace, key, value); err != nil {
		at.sizes = nil // it may be there all the same
		return err
	}
	at.total += size - at.sizes[key]
	at.sizes[key] = size
	return nil
}

func (s *PluginStore) delete(ctx context.Context, namespace, key string) error {
	at, release := s.hold(namespace)
	defer release()
	if err := s.kv.Delete(ctx, namespace, key); err != nil && !errors.Is(err, store.ErrNotFound) {
		at.sizes = nil
		return err
	}
	if at.sizes != nil {
		at.total -= at.sizes[key]
		delete(at.sizes, key)
	}
	return nil
}

// load measures what is stored, once.
func (at *scope) load(ctx context.Context, kv store.KV, namespace string) error {
	if at.sizes != nil {
		return nil
	}
	sizes, total := map[string]int{}, 0
	for after := ""; ; {
		keys, err := kv.List(ctx, namespace, "", after, MaxKVPage)
		if err != nil {
			return err
		}
		for _, key := range keys {
			value, err := kv.Get(ctx, namespace, key)
			if err != nil {
				return err
			}
			sizes[key] = len(key) + len(value)
			total += sizes[key]
			after = key
		}
		if len(keys) < MaxKVPage {
			at.sizes, at.total = sizes, total
			return nil
		}
	}
}

// namespace is where the call's plugin keeps its values.
func (o *operations) namespace(name string) (string, error) {
	if !o.reach.KV {
		return "", o.noGrant("kv", grantKV, func(r trust.RequestRecord) bool { return r.Kind == trust.KindKV })
	}
	switch name {
	case "", abi.KVGlobal:
		return pluginPrefix + o.plugin.ID, nil
	case abi.KVSession:
		return pluginPrefix + o.plugin.ID + ":" + o.session.ID, nil
	}
	return "", refuse(abi.KindInvalidInput, "scope is %q; it must be global or session", clip(name))
}

func checkKey(field, key string, empty bool) error {
	if key == "" && empty || key != "" && len(key) <= MaxKVKey && utf8.ValidString(key) {
		return nil
	}
	return refuse(abi.KindInvalidInput, "%s has %d bytes; it must have 1 to %d of UTF-8", field, len(key), MaxKVKey)
}

func (o *operations) kvGet(ctx context.Context, request abi.KVGet, _ []byte) (any, []byte, error) {
	namespace, err := o.namespace(request.Scope)
	if err == nil {
		err = checkKey("key", request.Key, false)
	}
	if err != nil {
		return nil, nil, err
	}
	value, err := o.reach.Store.kv.Get(ctx, namespace, request.Key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil, refuse(abi.KindNotFound, "there is no key %q", clip(request.Key))
	}
	if err != nil {
		return nil, nil, err
	}
	var kept stored
	if err := json.Unmarshal(value, &kept); err != nil {
		return nil, nil, fmt.Errorf("read the stored value: %w", err)
	}
	return abi.KVValue{Value: kept.Value, Version: kept.Version}, nil, nil
}

func (o *operations) kvSet(ctx context.Context, request abi.KVSet, _ []byte) (any, []byte, error) {
	namespace, err := o.namespace(request.Scope)
	if err == nil {
		err = checkKey("key", request.Key, false)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case len(request.Value) == 0:
		return nil, nil, refuse(abi.KindInvalidInput, "value is missing")
	case request.Version < 0:
		return nil, nil, refuse(abi.KindInvalidInput, "version is %d; it must not be negative", request.Version)
	}
	value, err := json.Marshal(stored{Version: request.Version, Value: request.Value})
	if err != nil {
		return nil, nil, fmt.Errorf("encode the value: %w", err)
	}
	return abi.None{}, nil, o.reach.Store.set(ctx, namespace, request.Key, value)
}

func (o *operations) kvDelete(ctx context.Context, request abi.KVDelete, _ []byte) (any, []byte, error) {
	namespace, err := o.namespace(request.Scope)
	if err == nil {
		err = checkKey("key", request.Key, false)
	}
	if err != nil {
		return nil, nil, err
	}
	return abi.None{}, nil, o.reach.Store.delete(ctx, namespace, request.Key)
}

func (o *operations) kvList(ctx context.Context, request abi.KVList, _ []byte) (any, []byte, error) {
	namespace, err := o.namespace(request.Scope)
	if err == nil {
		err = errors.Join(checkKey("prefix", request.Prefix, true), checkKey("after", request.After, true))
	}
	if err != nil {
		return nil, nil, err
	}
	limit := request.Limit
	if limit <= 0 || limit > MaxKVPage {
		limit = MaxKVPage
	}
	keys, err := o.reach.Store.kv.List(ctx, namespace, request.Prefix, request.After, limit+1)
	if err != nil {
		return nil, nil, err
	}
	listed := abi.KVListed{Keys: keys[:min(limit, len(keys))], More: len(keys) > limit}
	if listed.Keys == nil {
		listed.Keys = []string{}
	}
	return listed, nil, nil
}
