package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/host/share"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/bundle"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// importFolder is where a file is while it is imported.
func importFolder(data string) string { return filepath.Join(data, "import") }

// scratch opens an empty store for a while, with the tables of this program, in a folder
// of its own below parent.
func scratch(parent string) func(ctx context.Context) (store.Log, func() error, error) {
	return func(ctx context.Context) (store.Log, func() error, error) {
		folder, err := os.MkdirTemp(parent, "scratch-")
		if err != nil {
			return nil, nil, err
		}
		log, err := openKernel(ctx, sqlite.Options{Dir: folder})
		if err != nil {
			return nil, nil, errors.Join(err, os.RemoveAll(folder))
		}
		return log, func() error { return errors.Join(log.Close(), os.RemoveAll(folder)) }, nil
	}
}

// openKernel opens a store with the kernel's tables.
func openKernel(ctx context.Context, options sqlite.Options) (*sqlite.Store, error) {
	kernel, err := fs.Sub(session.Migrations, "migrations/sqlite")
	if err != nil {
		return nil, err
	}
	options.Projections = []store.Projection{session.Projection{}}
	options.Migrations = []sqlite.Migration{{Name: "kernel", FS: kernel}}
	return sqlite.Open(ctx, options)
}

// finishImports takes what a host that died was importing, before anything works on the
// sessions.
func (a *app) finishImports(ctx context.Context, encoder session.Encoder) error {
	folder := importFolder(a.config.Data)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make the folder of imports: %w", err)
	}
	old, err := filepath.Glob(filepath.Join(folder, "scratch-*"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("clear the folder of imports: %w", err)
		}
	}
	a.importer = &bundle.Importer{Log: a.store, Blobs: a.store.Blobs(), Encoder: encoder, Dir: folder, Scratch: scratch(folder)}
	finished, err := a.importer.Finish(ctx)
	for _, one := range finished {
		a.logger.Info("finished an import that was cut off", "session", one.Session, "events", one.Events)
	}
	if err != nil {
		a.logger.Error("an import that was cut off cannot be finished", "error", err)
	}
	return ctx.Err()
}

// transferService is server.Transfers.
type transferService struct {
	*backend
	store    *sqlite.Store
	importer *bundle.Importer
}

func (b transferService) Export(ctx context.Context, id string, children bool) (server.Download, error) {
	export, err := bundle.Open(ctx, b.store, b.store.Blobs(), id, bundle.Options{Children: children, Plinth: version, Now: time.Now()})
	if err != nil {
		return nil, wireError(err)
	}
	return export.Write, nil
}

func (b transferService) Import(ctx context.Context, caller server.Caller, from io.Reader) (protocol.ImportResult, error) {
	imported, err := b.importer.Import(ctx, origin(caller), from)
	if err != nil {
		return protocol.ImportResult{}, wireError(err)
	}
	result := protocol.ImportResult{Sessions: make([]protocol.ImportedSession, len(imported))}
	for i, one := range imported {
		result.Sessions[i] = protocol.ImportedSession(one)
	}
	return result, nil
}

func (b transferService) Share(ctx context.Context, id string, request protocol.ShareSession) (server.Download, error) {
	if _, err := b.sessions.Get(ctx, id); err != nil { // which knows those that were removed
		return nil, wireError(err)
	}
	transcript, err := share.Sharer{Log: b.store, Blobs: b.store.Blobs()}.Open(ctx, id,
		share.Options{Format: share.Format(request.Format), Reasoning: request.Reasoning})
	if err != nil {
		return nil, wireError(err)
	}
	return transcript.Write, nil
}

func (b transferService) Backup(ctx context.Context, request protocol.CreateBackup) (protocol.Backup, error) {
	if !filepath.IsAbs(request.Folder) {
		return protocol.Backup{}, protocol.Errorf(protocol.BadRequest, "folder is %q; it must be an absolute path on the host's machine", oneLine(request.Folder, 200))
	}
	manifest, err := b.store.Backup(ctx, request.Folder, backupOptions())
	if err != nil {
		return protocol.Backup{}, wireError(err)
	}
	return wireBackup(request.Folder, manifest), nil
}

// Folders below the data folder: the depot's, and that of compiled modules.
const (
	pluginsFolder = "plugins"
	cacheName     = "cache"
)

func backupOptions() sqlite.BackupOptions {
	return sqlite.BackupOptions{Plinth: version, Now: time.Now(), Folders: []string{pluginsFolder}}
}

func wireBackup(folder string, m sqlite.Manifest) protocol.Backup {
	return protocol.Backup{Folder: folder, Created: m.Created, Log: m.Log, Bytes: m.Database.Bytes,
		Blobs: m.Blobs.Count, BlobBytes: m.Blobs.Bytes, Damaged: m.Damaged, Missing: m.Missing,
		Plugins: m.Folders[pluginsFolder].Count, PluginBytes: m.Folders[pluginsFolder].Bytes}
}
