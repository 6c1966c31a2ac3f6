package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
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

func (f *Files) open(location session.Location, name abi.Path) (*fsys.File, string, error) {
	root := name.Root
	if root == "" {
		root = RootLocation
	}
	if f == nil || !f.Granted[root] {
		return nil, "", &abi.Error{Kind: abi.KindDenied, Message: fmt.Sprintf(
			"this plugin has no grant for the root %q; its manifest must ask for it with [[request.fs]]", clip(root))}
	}
	roots, err := fsys.New(map[string]string{RootLocation: location.Directory, RootProject: location.Root, RootConfig: f.Config}, f.Private)
	if err != nil {
		return nil, "", err
	}
	file, err := roots.Open(root, name.Path)
	if err != nil {
		return nil, "", fileError(err)
	}
	return file, resource(location, root, file.Identity()), nil
}

// resource is what permission is asked on: the path as seen from the session's
// directory, or "config:" and the path below the configuration folder.
func resource(location session.Location, root, identity string) string {
	switch root {
	case RootConfig:
		return "config:" + identity
	case RootProject:
		relative, err := filepath.Rel(location.Directory, filepath.Join(location.Root, filepath.FromSlash(identity)))
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
func (o *operations) opened(ctx context.Context, name abi.Path, use func(file *fsys.File, resource string) (any, []byte, error)) (any, []byte, error) {
	file, resource, err := o.files.open(o.location, name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if err := o.asked.authorise(ctx, actionRead, resource); err != nil {
		return nil, nil, err
	}
	return use(file, resource)
}

// stat tells of a file without its content. It asks nothing: that a file is there
// is no secret inside a granted root, and a tool must know before it asks.
func (o *operations) stat(ctx context.Context, request abi.FSStat) (any, []byte, error) {
	file, resource, err := o.files.open(o.location, request.Path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	effects, err := o.asked.effects(ctx, actionRead, []string{resource})
	if err != nil {
		return nil, nil, err
	}
	if effects[0] == session.Deny {
		return nil, nil, &session.DeniedError{Action: actionRead, Resource: resource}
	}
	return wireInfo(file.Info()), nil, nil
}

// list leaves out what reading would refuse.
func (o *operations) list(ctx context.Context, request abi.FSList) (any, []byte, error) {
	return o.opened(ctx, request.Path, func(file *fsys.File, resource string) (any, []byte, error) {
		entries, next, err := file.List(ctx, request.Offset, request.Limit)
		if err != nil {
			return nil, nil, fileError(err)
		}
		names := make([]string, len(entries))
		for i, entry := range entries {
			names[i] = path.Join(resource, entry.Name)
		}
		effects, err := o.asked.effects(ctx, actionRead, names)
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
	return o.opened(ctx, request.Path, func(file *fsys.File, _ string) (any, []byte, error) {
		if size := file.Info().Size; !file.Info().Directory {
			length = min(length, max(size-request.Offset, 0)+1) // one more, so that the end shows
		}
		data := make([]byte, length)
		n, err := file.ReadAt(data, request.Offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, fileError(err)
		}
		answer := abi.FSReadOK{Info: wireInfo(file.Info()), Data: abi.Bytes{Length: n}, EOF: errors.Is(err, io.EOF)}
		return answer, data[:n], nil
	})
}

func wireInfo(info fsys.Info) abi.FileInfo {
	kind := abi.FileRegular
	if info.Directory {
		kind = abi.FileDirectory
	}
	return abi.FileInfo{Path: strings.TrimPrefix(info.Path, "./"), Name: info.Name, Kind: kind, Size: info.Size, ModifiedMS: info.Modified.UnixMilli()}
}
