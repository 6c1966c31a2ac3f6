package sqlite

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/plinthhost/plinth/store/sqllog"
)

// SetMaxPages limits the size of the database as a full disk would; 0 takes the
// limit away again.
func (s *Store) SetMaxPages(ctx context.Context, pages int64) error {
	if pages == 0 {
		pages = 1 << 30
	}
	return s.writer.do(ctx, &request{run: func(ctx context.Context, tx sqllog.Tx) error {
		return tx.QueryRow(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages)).Scan(new(int64))
	}})
}

// BlobPath is the file of a blob.
func (s *Store) BlobPath(digest string) string {
	return filepath.Join(s.options.Dir, "blobs", digest[:2], digest[2:])
}
