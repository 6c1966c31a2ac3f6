package sqlite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/store"
)

// TestCheckpoint: the WAL does not grow with what is written, although the
// commits do not wait for checkpoints.
func TestCheckpoint(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	data := append(append([]byte{'"'}, bytes.Repeat([]byte("x"), 12<<10)...), '"')
	for i := range 100 {
		batch := store.Batch{Aggregate: fmt.Sprint("ses_", i%7)}
		for n := range 100 { // 1.2 MB
			e := failureEvent(i*100 + n)
			e.Data = data
			batch.Events = append(batch.Events, e)
		}
		if _, err := s.Append(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "plinth.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	if limit := int64(behindPages+checkpointPages) * pageSize; info.Size() > limit {
		t.Errorf("the WAL has %d bytes, want at most %d", info.Size(), limit)
	}
}

// TestLookAtWAL: looking copies nothing, copying copies.
func TestLookAtWAL(t *testing.T) {
	s, err := Open(t.Context(), Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Append(t.Context(), store.Batch{Aggregate: "ses_0", Events: []store.Event{failureEvent(1)}}); err != nil {
		t.Fatal(err)
	}
	looked, err := checkpoint(t.Context(), s.checkpoint.db, "NOOP")
	if err != nil || looked.pages == 0 || looked.copied != 0 {
		t.Errorf("looking: %+v %v", looked, err)
	}
	copied, err := checkpoint(t.Context(), s.checkpoint.db, "PASSIVE")
	if err != nil || copied.pages != looked.pages || copied.copied != copied.pages {
		t.Errorf("copying: %+v %v", copied, err)
	}
}

// TestCheckpointBehind: when nobody copies beside the commits, the writer does.
func TestCheckpointBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plinth.db")
	db := openWriter(path, nil)
	defer db.Close()
	c := newCheckpointer(db, hclog.NewNullLogger()) // its goroutine never starts
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE bulk (value BLOB)`); err != nil {
		t.Fatal(err)
	}
	const step = 8 << 20
	for range behindPages*pageSize/step + 4 {
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf(`INSERT INTO bulk (value) VALUES (zeroblob(%d))`, step)); err != nil {
			t.Fatal(err)
		}
		if err := c.look(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	wal, err := checkpoint(t.Context(), db, "NOOP")
	if err != nil || wal.pages >= behindPages {
		t.Errorf("the WAL has %d pages, %v; it was never started anew", wal.pages, err)
	}
}
