package servertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/plinthhost/plinth/store"
)

// KV is a key-value store in memory.
type KV struct {
	mu     sync.Mutex
	values map[string][]byte // by namespace, NUL and key
}

// NewKV makes an empty one.
func NewKV() *KV { return &KV{values: map[string][]byte{}} }

// Get answers a value, or store.ErrNotFound.
func (k *KV) Get(_ context.Context, namespace, key string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	value, ok := k.values[namespace+"\x00"+key]
	if !ok {
		return nil, store.ErrNotFound
	}
	return slices.Clone(value), nil
}

// Set stores a value.
func (k *KV) Set(_ context.Context, namespace, key string, value []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.values[namespace+"\x00"+key] = slices.Clone(value)
	return nil
}

// Delete removes a value.
func (k *KV) Delete(_ context.Context, namespace, key string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.values, namespace+"\x00"+key)
	return nil
}

// List answers keys in order.
func (k *KV) List(_ context.Context, namespace, prefix, after string, limit int) ([]string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var keys []string
	for full := range k.values {
		key, ok := strings.CutPrefix(full, namespace+"\x00")
		if ok && strings.HasPrefix(key, prefix) && key > after {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys[:min(limit, len(keys))], nil
}

// Namespaces answers namespaces in order.
func (k *KV) Namespaces(_ context.Context, prefix, after string, limit int) ([]string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var namespaces []string
	for full := range k.values {
		namespace, _, _ := strings.Cut(full, "\x00")
		if strings.HasPrefix(namespace, prefix) && namespace > after && !slices.Contains(namespaces, namespace) {
			namespaces = append(namespaces, namespace)
		}
	}
	slices.Sort(namespaces)
	return namespaces[:min(limit, len(namespaces))], nil
}

// Clear removes the first keys of a namespace.
func (k *KV) Clear(ctx context.Context, namespace string, limit int) (removed int, err error) {
	keys, err := k.List(ctx, namespace, "", "", limit)
	for _, key := range keys {
		err = errors.Join(err, k.Delete(ctx, namespace, key))
	}
	return len(keys), err
}

// Dump answers every value as one text, to look for what must not be in it.
func (k *KV) Dump() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all strings.Builder
	for key, value := range k.values {
		all.WriteString(key + "=" + string(value) + "\n")
	}
	return all.String()
}
