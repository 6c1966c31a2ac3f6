package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqllog"
)

// View keeps tables that are rebuilt from the log and never veto an append.
type View = sqllog.View

// Migration is one line of numbered SQL files, in goose's format, with a version
// of its own.
type Migration struct {
	// Name of the line, a-z and "_", for example "kernel".
	Name string
	// FS has the files at its root: 001_name.sql, 002_name.sql, …
	FS fs.FS
}

// Options say where the store lives and what runs in its transactions.
type Options struct {
	// Dir is the folder of plinth.db, blobs and lock. It is made, for this user
	// alone, when it is missing.
	Dir string
	// Projections run on each event in the append's transaction.
	Projections []store.Projection
	// Views follow the events and may fail without harm. See StaleViews.
	Views []View
	// Migrations run at Open after the store's own, in this order; then the views'.
	Migrations []Migration
	// MaxGroup is the largest number of writes in one transaction. 0 means 256;
	// 1 gives every write a transaction of its own.
	MaxGroup int
	// Logger; nil logs nothing.
	Logger hclog.Logger
	// Fatal is called once when a commit could not be made durable. The log
	// refuses everything from then on; the process should end. It may call Close.
	Fatal func(error)
}

var lineName = regexp.MustCompile(`^[a-z][a-z_]*$`)

// withDefaults answers checked options with an absolute Dir.
func (o Options) withDefaults() (Options, error) {
	if o.Dir == "" {
		return o, errors.New("no folder given for the store")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, err
	}
	o.Dir = dir
	if o.MaxGroup == 0 {
		o.MaxGroup = 256
	}
	if o.MaxGroup < 0 {
		return o, fmt.Errorf("MaxGroup is %d, the least is 1", o.MaxGroup)
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.Fatal == nil {
		o.Fatal = func(error) {}
	}
	return o, o.checkLines()
}

func (o Options) checkLines() error {
	seen := make(map[string]bool)
	for _, line := range o.lines() {
		switch {
		case !lineName.MatchString(line.Name):
			return fmt.Errorf("migration line %q: the name must be of a-z and _", line.Name)
		case seen[line.Name]:
			return fmt.Errorf("migration line %q is given twice", line.Name)
		case line.FS == nil:
			return fmt.Errorf("migration line %q has no files", line.Name)
		}
		seen[line.Name] = true
	}
	return nil
}
