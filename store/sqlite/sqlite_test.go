package sqlite_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/store/sqlite"
	"github.com/plinthhost/plinth/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		Open: openSubject,
		Lose: []string{
			`ROLLBACK`,
			`COMMIT`,
			`ROLLBACK; BEGIN`,
			`ROLLBACK; BEGIN; SAVEPOINT part`,
			`INSERT OR ROLLBACK INTO storetest_trap (id) VALUES (1)`,
		},
	})
}

func openSubject(t *testing.T, setup storetest.Setup) storetest.Subject {
	t.Helper()
	s := openStore(t, sqlite.Options{
		Dir:         setup.Dir,
		Projections: setup.Projections,
		Migrations:  []sqlite.Migration{line("storetest", setup.Schema...)},
	})
	return storetest.Subject{
		Log: s, KV: s.KV(), Blobs: s.Blobs(),
		Fill: func(t *testing.T) func() {
			limit := func(pages int64) {
				if err := s.SetMaxPages(t.Context(), pages); err != nil {
					t.Fatalf("limit the pages: %v", err)
				}
			}
			limit(1) // SQLite makes it the present size
			return func() { limit(0) }
		},
		SpoilBlob: func(t *testing.T, digest string) {
			path := s.BlobPath(digest)
			stored, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			stored[len(stored)/2] ^= 1
			if err := os.WriteFile(path, stored, 0o600); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// line makes a migration line of one file.
func line(name string, statements ...string) sqlite.Migration {
	script := "-- +goose Up\n" + strings.Join(statements, ";\n") + ";\n"
	return sqlite.Migration{Name: name, FS: fstest.MapFS{"001_" + name + ".sql": {Data: []byte(script)}}}
}

// mustOpen opens a store that the test's end closes.
func mustOpen(t *testing.T, options sqlite.Options) *sqlite.Store {
	t.Helper()
	s := openStore(t, options)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func openStore(t *testing.T, options sqlite.Options) *sqlite.Store {
	t.Helper()
	if options.Logger == nil {
		options.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: testWriter{t}})
	}
	s, err := sqlite.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", p)
	return len(p), nil
}
