package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var storeMigrations embed.FS

const (
	// format is the number of the file's layout as a whole. It grows when an older
	// program must not open the file although its migration lines would fit.
	format = 1
	// storeLine and viewLine name the lines beside those of the options.
	storeLine = "store"
	viewLine  = "view_"
	// versionTable is the prefix of goose's tables, one for each line.
	versionTable = "log_migration_"
)

// lines are all migration lines in the order they run.
func (o Options) lines() []Migration {
	own, err := fs.Sub(storeMigrations, "migrations")
	if err != nil {
		panic("BUG: " + err.Error()) // the path is a constant
	}
	lines := append([]Migration{{Name: storeLine, FS: own}}, o.Migrations...)
	for _, view := range o.Views {
		lines = append(lines, Migration{Name: viewLine + view.Name(), FS: view.Migrations()})
	}
	return lines
}

// migrate brings every line to its newest version. It answers which views had
// their tables changed, and *FormatError when a line is newer than this program.
func migrate(ctx context.Context, db *sql.DB, path string, options Options) (changed map[string]bool, err error) {
	if err := checkFormat(ctx, db, path); err != nil {
		return nil, err
	}
	lines := options.lines()
	applied, err := appliedVersions(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("read the migration versions of %s: %w", path, err)
	}
	newest := make([]int64, len(lines))
	for i, line := range lines {
		if newest[i], err = newestVersion(line); err != nil {
			return nil, err
		}
		if applied[line.Name] > newest[i] {
			return nil, &FormatError{Path: path, Line: line.Name, Found: applied[line.Name], Known: newest[i]}
		}
	}
	changed = make(map[string]bool)
	for i, line := range lines {
		if applied[line.Name] == newest[i] {
			continue
		}
		if err := up(ctx, db, line, options.Logger); err != nil {
			return nil, fmt.Errorf("migrate %s of %s: %w", line.Name, path, err)
		}
		if view, ok := strings.CutPrefix(line.Name, viewLine); ok {
			changed[view] = true
		}
	}
	return changed, setFormat(ctx, db)
}

// checkFormat also proves that the file can be used as it must be.
func checkFormat(ctx context.Context, db *sql.DB, path string) error {
	var found int64
	var journal string
	if err := db.QueryRowContext(ctx, `SELECT user_version, journal_mode FROM pragma_user_version, pragma_journal_mode`).
		Scan(&found, &journal); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	if found > format {
		return &FormatError{Path: path, Line: "format", Found: found, Known: format}
	}
	if journal != "wal" {
		return fmt.Errorf("open %s: the file system has no write-ahead log (journal mode %s); put the data folder on a local disk", path, journal)
	}
	return nil
}

func setFormat(ctx context.Context, db *sql.DB) error {
	var found int64
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&found); err != nil || found == format {
		return err
	}
	_, err := db.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, format))
	return err
}

// appliedVersions reads goose's tables directly: asking goose costs several
// milliseconds for each line, and nearly always nothing is to be done.
func appliedVersions(ctx context.Context, db *sql.DB) (map[string]int64, error) {
	names, err := versionTables(ctx, db)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	var selects []string
	for _, name := range names {
		selects = append(selects, fmt.Sprintf(`SELECT '%s', coalesce(max(version_id), 0) FROM "%s%s"`, name, versionTable, name))
	}
	rows, err := db.QueryContext(ctx, strings.Join(selects, " UNION ALL "))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	applied := make(map[string]int64)
	for rows.Next() {
		var name string
		var version int64
		if err := rows.Scan(&name, &version); err != nil {
			return nil, err
		}
		applied[name] = version
	}
	return applied, rows.Err()
}

func versionTables(ctx context.Context, db *sql.DB) (names []string, err error) {
	rows, err := db.QueryContext(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, $1) = $2`,
		len(versionTable), versionTable)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		if name = strings.TrimPrefix(name, versionTable); lineName.MatchString(name) {
			names = append(names, name)
		}
	}
	return names, rows.Err()
}

func newestVersion(line Migration) (newest int64, err error) {
	files, err := fs.Glob(line.FS, "*.sql")
	if err != nil {
		return 0, err
	}
	if len(files) == 0 {
		return 0, fmt.Errorf("migration line %s has no .sql file at its root", line.Name)
	}
	for _, file := range files {
		version, err := goose.NumericComponent(file)
		if err != nil {
			return 0, fmt.Errorf("migration line %s: %s: %w", line.Name, file, err)
		}
		newest = max(newest, version)
	}
	return newest, nil
}

func up(ctx context.Context, db *sql.DB, line Migration, logger hclog.Logger) error {
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, line.FS,
		goose.WithDisableGlobalRegistry(true), goose.WithTableName(versionTable+line.Name))
	if err != nil {
		return err
	}
	results, err := provider.Up(ctx)
	for _, result := range results {
		logger.Info("migrated", "line", line.Name, "version", result.Source.Version, "took", result.Duration)
	}
	return err
}
