package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/session"
)

// Names of the roots a guest may name.
const (
	RootLocation = "location"
	RootProject  = "project"
	RootConfig   = "config"
)

// MaxReadBytes is the most one fs.read answers.
const MaxReadBytes = 1 << 20

const actionRead = "read"

// Files are the roots one plugin may reach.
type Files struct {
	// Granted roots: location, project, config.
	Granted map[string]bool
	// Config is the operator's configuration folder.
	Config string
	// Private folders are Plinth's own; they are never reachable.
	Private []string
}

// opened is a file that a guest named, in an open handle.
type opened struct {
	*fsys.File
	root     string
	location session.Location
}

func (f *Files) open(location session.Location, name abi.Path) (opened, error) {
	root := name.Root
	if root == "" {
		root = RootLocation
	}
	if f == nil || !f.Granted[root] {
		return opened{}, &abi.Error{Kind: abi.KindDenied, Message: fmt.Sprintf(
			"this plugin has no grant for the root %q; its manifest must ask for it with [[request.fs]]", clip(root))}
	}
	folder := map[string]string{RootLocation: location.Directory, RootProject: location.Root, RootConfig: f.Config}[root]
	roots, err := fsys.New(map[string]string{root: folder}, f.Private)
	if err != nil {
		return opened{}, err
	}
	file, err := roots.Open(root, name.Path)
	if err != nil {
		return opened{}, fileError(err)
	}
	return opened{File: file, root: root, location: location}, nil
}

// resource is what permission is asked on for an identity below the file's root:
// the path as seen from the session's directory, or "config:" and the path below
// the configuration folder.
func (o opened) resource(identity string) string {
	switch o.root {
	case RootConfig:
		return "config:" + identity
	case RootProject:
		relative, err := filepath.Rel(o.location.Directory, filepath.Join(o.location.Root, filepath.FromSlash(identity)))
		if err == nil {
			return filepath.ToSlash(relative)
		}
	}
	return identity
}

func fileError(err error) error {
	if failed, ok := errors.AsType[*fsys.Error](err); ok {
		return &abi.Error{Kind: abi.Kind(failed.Kind), Message: failed.Error()}
	}
	return err
}

// opened opens first, then asks on what was opened, then lets use have the same
// handle.
func (o *operations) opened(ctx context.Context, name abi.Path, use func(file opened) (any, []byte, error)) (any, []byte, error) {
	file, err := o.files.open(o.location, name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if err := o.asked.authorise(ctx, actionRead, file.resource(file.Identity())); err != nil {
		return nil, nil, err
	}
	return use(file)
}

// stat tells of a file without its content. It asks nothing: that a file is there
// is no secret inside a granted root, and a tool must know before it asks.
func (o *operations) stat(ctx context.Context, request abi.FSStat) (any, []byte, error) {
	file, err := o.files.open(o.location, request.Path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	resource := file.resource(file.Identity())
	effects, err := o.asked.effects(ctx, actionRead, []string{resource})
	if err != nil {
		return nil, nil, err
	}
	if effects[0] == session.Deny {
		return nil, nil, &session.DeniedError{Action: actionRead, Resource: resource}
	}
	return wireInfo(file.Info()), nil, nil
}

// list leaves out what reading would refuse. A link is judged by what it leads to.
func (o *operations) list(ctx context.Context, request abi.FSList) (any, []byte, error) {
	return o.opened(ctx, request.Path, func(file opened) (any, []byte, error) {
		entries, next, err := file.List(ctx, request.Offset, request.Limit)
		if err != nil {
			return nil, nil, fileError(err)
		}
		resources := make([]string, len(entries))
		for i, entry := range entries {
			resources[i] = file.resource(entry.Path)
		}
		effects, err := o.asked.effects(ctx, actionRead, resources)
		if err != nil {
			return nil, nil, err
		}
		listed := abi.FSListed{Path: file.Identity(), Entries: []abi.FileInfo{}, Next: next}
		for i, entry := range entries {
			if effects[i] != session.Deny {
				listed.Entries = append(listed.Entries, wireInfo(entry))
			}
		}
		return listed, nil, nil
	})
}

func (o *operations) read(ctx context.Context, request abi.FSRead) (any, []byte, error) {
	length := request.Length
	switch {
	case length < 0 || request.Offset < 0:
		return nil, nil, &abi.Error{Kind: abi.KindInvalidInput, Message: "offset and length must not be negative"}
	case length == 0:
		length = MaxReadBytes
	case length > MaxReadBytes:
		return nil, nil, &abi.Error{Kind: abi.KindLimit, Message: fmt.Sprintf("length is %d, one fs.read answers at most %d bytes", length, MaxReadBytes)}
	}
	return o.opened(ctx, request.Path, func(file opened) (any, []byte, error) {
		rest := length
		if !file.Info().Directory {
			rest = min(length, max(file.Info().Size-request.Offset, 0))
		}
		data := make([]byte, rest+1) // one more, so that the end shows
		n, err := file.ReadAt(data, request.Offset)
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return nil, nil, fileError(err)
		}
		n = min(n, int(length))
		return abi.FSReadOK{Info: wireInfo(file.Info()), Data: abi.Bytes{Length: n}, EOF: end}, data[:n], nil
	})
}

func wireInfo(info fsys.Info) abi.FileInfo {
	kind := abi.FileRegular
	if info.Directory {
		kind = abi.FileDirectory
	}
	return abi.FileInfo{Path: strings.TrimPrefix(info.Path, "./"), Name: info.Name, Kind: kind, Size: info.Size, ModifiedMS: info.Modified.UnixMilli()}
}
