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
	"github.com/plinthhost/plinth/host/trust"
	"github.com/plinthhost/plinth/session"
)

// Names of the roots a guest may name.
const (
	RootLocation = "location"
	RootProject  = "project"
	RootConfig   = "config"
	// RootOperator holds the files that the operator's configuration lends the plugin;
	// paths are absolute.
	RootOperator = "operator"

	// outside is what absolute paths that leave the location are below.
	outside = "outside"
	// kept is what the files of Services.Outputs are below. They can be read only.
	kept = "kept"
)

// MaxReadBytes is the most one fs.read answers.
const MaxReadBytes = 1 << 20

// folder is a granted root of one call.
type folder struct {
	roots    *fsys.Roots
	name     string // of the root
	path     string // of the folder; absolute
	location session.Location
}

// folder finds the root that a path is below. An absolute path that is not in the
// location is below the root outside, or kept, for which permission is asked.
func (o *operations) folder(name abi.Path, access Access) (folder, error) {
	root := name.Root
	if root == "" {
		root = RootLocation
	}
	grant := grantRead
	if access == AccessWrite {
		grant = grantWrite
	}
	if granted, ok := o.reach.Roots[root]; !ok || access == AccessWrite && granted != AccessWrite {
		return folder{}, o.noGrant(fmt.Sprintf("the root %q", clip(root)), grant, func(r trust.RequestRecord) bool {
			return r.Kind == trust.KindFS && r.Root == root && (access == AccessRead || r.Access == string(AccessWrite))
		})
	}
	folders := map[string]string{RootLocation: o.location.Directory, RootProject: o.location.Root, RootConfig: o.reach.Config, RootOperator: "/"}
	if _, ok := folders[root]; !ok {
		return folder{}, refuse(abi.KindInvalidInput, "there is no root %q; there are location, project and config", clip(root))
	}
	if root == RootOperator && !o.reach.lent(name.Path) {
		return folder{}, refuse(abi.KindDenied, "the operator's configuration does not name %q", clip(name.Path))
	}
	private := o.reach.Private
	switch absolute := root == RootLocation && filepath.IsAbs(name.Path); {
	case absolute && access == AccessRead && o.reach.Outputs != "" && within(name.Path, o.reach.Outputs):
		root, private = kept, nil // also where the location is above Plinth's own folders
		folders[kept] = o.reach.Outputs
	case absolute && !within(name.Path, o.location.Directory):
		root = outside
		folders[outside] = "/"
	}
	roots, err := fsys.New(map[string]string{root: folders[root]}, private)
	return folder{roots: roots, name: root, path: folders[root], location: o.location}, err
}

// within compares texts: a path that only looks as if it were outside is asked for.
func within(name, folder string) bool {
	name = path.Clean(name)
	return name == folder || strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}

// resource is what permission is asked on for an identity below the root: the path
// as seen from the session's directory, the absolute path of what is outside, or
// "config:" and the path below the configuration folder.
func (f folder) resource(identity string) string {
	switch f.name {
	case RootConfig:
		return "config:" + identity
	case outside, kept, RootOperator:
		absolute := path.Join(f.path, identity)
		if relative, ok := strings.CutPrefix(absolute, f.location.Directory+"/"); ok {
			return relative
		}
		return absolute
	case RootProject:
		relative, err := filepath.Rel(f.location.Directory, filepath.Join(f.location.Root, filepath.FromSlash(identity)))
		if err == nil {
			return filepath.ToSlash(relative)
		}
	}
	return identity
}

// named is an identity as the guest can name it again below the root it asked for.
func (f folder) named(identity string) string {
	if (f.isOutside() || f.name == RootOperator) && !path.IsAbs(identity) {
		return path.Join(f.path, identity)
	}
	return identity
}

// isOutside: the folder is not the location's, and asked for before what is in it.
func (f folder) isOutside() bool { return f.name == outside || f.name == kept }

func (f folder) resources(identities []string) []string {
	resources := make([]string, len(identities))
	for i, identity := range identities {
		resources[i] = f.resource(identity)
	}
	return resources
}

// leave asks for the folders outside of the location that identities are in.
func (o *operations) leave(ctx context.Context, f folder, directory bool, identities ...string) error {
	if !f.isOutside() {
		return nil
	}
	var folders []string
	for _, identity := range identities {
		place := path.Join(f.path, identity)
		if within(place, o.location.Directory) {
			continue // it came back by a link
		}
		if !directory {
			place = path.Dir(place)
		}
		folders = append(folders, path.Join(place, "*"))
	}
	return o.external(ctx, folders)
}

// external asks for folders outside of the location, each written as "/folder/*".
func (o *operations) external(ctx context.Context, folders []string) error {
	if len(folders) == 0 {
		return nil
	}
	var save []string
	for _, folder := range folders {
		if session.Savable(path.Dir(folder)) != nil {
			save = append(save, folder)
		}
	}
	if err := o.asked.authorise(ctx, actionExternal, folders, save); err != nil {
		return err
	}
	// Who reads a file and then changes it is asked for its folder once.
	if tool, ok := o.asked.(*toolAuthority); ok {
		tool.cover(actionExternal, folders)
	}
	return nil
}

// opened is a file that a guest named, in an open handle.
type opened struct {
	*fsys.File
	folder
}

func (o *operations) open(ctx context.Context, name abi.Path) (opened, error) {
	found, err := o.folder(name, AccessRead)
	if err != nil {
		return opened{}, err
	}
	file, err := found.roots.Open(found.name, name.Path)
	if err != nil {
		return opened{}, fileError(err)
	}
	if err := o.leave(ctx, found, file.Info().Directory, file.Identity()); err != nil {
		file.Close()
		return opened{}, err
	}
	return opened{File: file, folder: found}, nil
}

// opened opens first, then asks on what was opened, then lets use have the same
// handle.
func (o *operations) opened(ctx context.Context, name abi.Path, use func(file opened) (any, []byte, error)) (any, []byte, error) {
	file, err := o.open(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if err := o.authorise(ctx, actionRead, file.resource(file.Identity())); err != nil {
		return nil, nil, err
	}
	return use(file)
}

// stat tells of a file without its content. It asks nothing: that a file is there
// is no secret inside a granted root, and a tool must know before it asks.
func (o *operations) stat(ctx context.Context, request abi.FSStat, _ []byte) (any, []byte, error) {
	file, err := o.open(ctx, request.Path)
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
	return file.wire(file.Info()), nil, nil
}

// list leaves out what reading would refuse. A link is judged by what it leads to.
func (o *operations) list(ctx context.Context, request abi.FSList, _ []byte) (any, []byte, error) {
	return o.opened(ctx, request.Path, func(file opened) (any, []byte, error) {
		entries, next, err := file.List(ctx, request.Offset, request.Limit)
		if err != nil {
			return nil, nil, fileError(err)
		}
		identities := make([]string, len(entries))
		for i, entry := range entries {
			identities[i] = entry.Path
		}
		effects, err := o.asked.effects(ctx, actionRead, file.resources(identities))
		if err != nil {
			return nil, nil, err
		}
		listed := abi.FSListed{Path: file.named(file.Identity()), Entries: []abi.FileInfo{}, Next: next}
		for i, entry := range entries {
			if effects[i] != session.Deny {
				listed.Entries = append(listed.Entries, file.wire(entry))
			}
		}
		return listed, nil, nil
	})
}

func (o *operations) read(ctx context.Context, request abi.FSRead, _ []byte) (any, []byte, error) {
	length := request.Length
	switch {
	case length < 0 || request.Offset < 0:
		return nil, nil, refuse(abi.KindInvalidInput, "offset and length must not be negative")
	case length == 0:
		length = MaxReadBytes
	case length > MaxReadBytes:
		return nil, nil, refuse(abi.KindLimit, "length is %d, one fs.read answers at most %d bytes", length, MaxReadBytes)
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
		o.told(file)
		return abi.FSReadOK{Info: file.wire(file.Info()), Data: abi.Bytes{Length: n}, EOF: end}, data[:n], nil
	})
}

// told lets the session know of a file whose content a tool gets.
func (o *operations) told(file opened) {
	if observer, ok := o.host.(session.ReadObserver); ok {
		observer.Read(path.Join(file.path, file.Identity()))
	}
}

func fileError(err error) error {
	if failed, ok := errors.AsType[*fsys.Error](err); ok {
		return wireFileError(failed)
	}
	return err
}

func wireFileError(failed *fsys.Error) *abi.Error {
	return &abi.Error{Kind: abi.Kind(failed.Kind), Message: failed.Error()}
}

func (f folder) wire(info fsys.Info) abi.FileInfo {
	kind := abi.FileRegular
	if info.Directory {
		kind = abi.FileDirectory
	}
	return abi.FileInfo{Path: f.named(strings.TrimPrefix(info.Path, "./")), Name: info.Name, Kind: kind, Size: info.Size, ModifiedMS: info.Modified.UnixMilli()}
}
