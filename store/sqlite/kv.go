package sqlite

import (
	"context"

	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqllog"
)

// kv is the key-value store: reads on a snapshot, writes through the writer.
type kv struct{ store *Store }

var _ store.KV = (*kv)(nil)

func (k *kv) Get(ctx context.Context, namespace, key string) (value []byte, err error) {
	err = k.store.snapshot(ctx, func(tx store.Tx) (err error) {
		value, err = sqllog.KVGet(ctx, tx, namespace, key)
		return err
	})
	return value, err
}

func (k *kv) Set(ctx context.Context, namespace, key string, value []byte) error {
	return k.write(ctx, len(value), func(ctx context.Context, tx sqllog.Tx) error {
		return sqllog.KVSet(ctx, tx, namespace, key, value)
	})
}

func (k *kv) Delete(ctx context.Context, namespace, key string) error {
	return k.write(ctx, 0, func(ctx context.Context, tx sqllog.Tx) error {
		return sqllog.KVDelete(ctx, tx, namespace, key)
	})
}

func (k *kv) List(ctx context.Context, namespace, prefix, after string, limit int) (keys []string, err error) {
	err = k.store.snapshot(ctx, func(tx store.Tx) (err error) {
		keys, err = sqllog.KVList(ctx, tx, namespace, prefix, after, limit)
		return err
	})
	return keys, err
}

func (k *kv) Namespaces(ctx context.Context, prefix, after string, limit int) (namespaces []string, err error) {
	err = k.store.snapshot(ctx, func(tx store.Tx) (err error) {
		namespaces, err = sqllog.KVNamespaces(ctx, tx, prefix, after, limit)
		return err
	})
	return namespaces, err
}

func (k *kv) Clear(ctx context.Context, namespace string, limit int) (removed int, err error) {
	err = k.write(ctx, 0, func(ctx context.Context, tx sqllog.Tx) (err error) {
		removed, err = sqllog.KVClear(ctx, tx, namespace, limit)
		return err
	})
	return removed, err
}

func (k *kv) write(ctx context.Context, size int, run func(context.Context, sqllog.Tx) error) error {
	if err := k.store.gate.enter(); err != nil {
		return err
	}
	defer k.store.gate.leave()
	return k.store.writer.do(ctx, &request{run: run, size: size})
}
