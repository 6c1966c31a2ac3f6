package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// Settings of the database, by measurement: see DESIGN.md.
const (
	pageSize        = 1024     // bytes
	writerCache     = 16 << 10 // KiB
	readerCache     = 4 << 10  // KiB for each reader
	busyTimeout     = 5000     // milliseconds
	statementCache  = 128      // statements for each connection
	walSizeLimit    = 64 << 20 // bytes the file keeps after a checkpoint
	readConnections = 8
)

// connector opens connections to one file. The settings of a connection are made
// here and nowhere else, so that every connection of a pool has them.
type connector struct {
	dsn    string
	driver *sqlite3.SQLiteDriver
}

func (c *connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c *connector) Driver() driver.Driver                        { return c.driver }

func newConnector(path, lock string, pragmas []string, hook func(*sqlite3.SQLiteConn)) *connector {
	query := url.Values{
		"_mutex":           {"no"}, // database/sql never uses a connection twice at once
		"_txlock":          {lock},
		"_busy_timeout":    {fmt.Sprint(busyTimeout)},
		"_stmt_cache_size": {fmt.Sprint(statementCache)},
	}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	script := "PRAGMA " + strings.Join(pragmas, "; PRAGMA ")
	return &connector{dsn: dsn.String(), driver: &sqlite3.SQLiteDriver{
		ConnectHook: func(conn *sqlite3.SQLiteConn) error {
			if _, err := conn.Exec(script, nil); err != nil {
				return fmt.Errorf("set up the connection to %s: %w", path, err)
			}
			if hook != nil {
				hook(conn)
			}
			return nil
		},
	}}
}

// openWriter answers a pool of exactly one connection that may write.
func openWriter(path string, hook func(*sqlite3.SQLiteConn)) *sql.DB {
	db := sql.OpenDB(newConnector(path, "immediate", []string{
		fmt.Sprintf("page_size = %d", pageSize), // of a new file only
		"journal_mode = WAL",
		"synchronous = FULL",
		"fullfsync = ON", // macOS: fsync alone does not reach the disk
		"checkpoint_fullfsync = ON",
		"foreign_keys = ON",
		"temp_store = MEMORY", // what a savepoint undoes is kept in memory
		fmt.Sprintf("cache_size = -%d", writerCache),
		fmt.Sprintf("journal_size_limit = %d", walSizeLimit),
		"wal_autocheckpoint = 0", // checkpoint.go does it
	}, hook))
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	return db
}

// openReaders answers a pool of connections that cannot write.
func openReaders(path string) *sql.DB {
	db := sql.OpenDB(newConnector(path, "deferred", []string{
		"query_only = ON",
		"temp_store = MEMORY",
		fmt.Sprintf("cache_size = -%d", readerCache),
	}, nil))
	db.SetMaxOpenConns(readConnections)
	db.SetMaxIdleConns(readConnections)
	return db
}

// OpenDatabase answers a plain handle on a database file with the writer's
// settings and a single connection, for measurements and tools. It takes no lock:
// never use it on the file of an open Store.
func OpenDatabase(path string) *sql.DB { return openWriter(path, nil) }
