package sqlite

import (
	"context"
	"io"

	"github.com/plinthhost/plinth/store"
)

// blobs are the store's blobs as others see them: refused once it is closed.
type blobs struct {
	dir  *blobDir
	gate *gate
}

var _ store.Blobs = (*blobs)(nil)

func (b *blobs) Put(ctx context.Context, value []byte) (string, error) {
	if err := b.gate.enter(); err != nil {
		return "", err
	}
	defer b.gate.leave()
	return b.dir.Put(ctx, value)
}

func (b *blobs) Get(ctx context.Context, digest string) ([]byte, error) {
	if err := b.gate.enter(); err != nil {
		return nil, err
	}
	defer b.gate.leave()
	return b.dir.Get(ctx, digest)
}

func (b *blobs) Open(ctx context.Context, digest string) (io.ReadSeekCloser, int64, error) {
	if err := b.gate.enter(); err != nil {
		return nil, 0, err
	}
	defer b.gate.leave()
	return b.dir.Open(ctx, digest)
}
