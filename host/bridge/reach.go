package bridge

import (
	"path"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/host/process"
	"github.com/plinthhost/plinth/host/secret"
	"github.com/plinthhost/plinth/host/trust"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// Services are what the operations work with, shared by all plugins.
type Services struct {
	// Config is the operator's configuration folder.
	Config string
	// Private folders are Plinth's own; they are never reachable.
	Private []string
	// Outputs is the folder of what tools said too much of, "" for none. It may lie in
	// a private one, and is there to be read: its files are named to models.
	Outputs string
	// Home is the user's home folder, "" when there is none.
	Home string
	// Kept keeps the whole of long outputs of commands in Outputs; nil keeps none.
	Kept      session.OutputFiles
	Writer    *fsys.Writer
	Processes *process.Runner
	Store     *PluginStore
	Blobs     store.Blobs
	Clock     session.Clock
	Rules     Rules
	// Scrubber takes the operator's secrets out of what commands print; nil for none.
	Scrubber *secret.Scrubber

	once   sync.Once
	byName map[string]Operation

	decoders sync.Pool // of *requestDecoder
}

// scrub takes the operator's secrets out of a text.
func (s *Services) scrub(text string) string {
	if s.Scrubber == nil {
		return text
	}
	return s.Scrubber.Scrub(text)
}

// operation finds one of the table.
func (s *Services) operation(name string) (Operation, bool) {
	s.once.Do(func() {
		s.byName = map[string]Operation{}
		for _, operation := range Table() {
			s.byName[operation.Name] = operation
		}
	})
	operation, ok := s.byName[name]
	return operation, ok
}

// Grants are what one plugin may use; the zero value is nothing.
type Grants struct {
	// Roots are the roots it may reach: location, project, config.
	Roots map[string]Access
	// Files are absolute paths and patterns that the operator's configuration lends, below
	// the root operator.
	Files []string
	// Fetcher makes its requests; nil for none. AnyURL: what is not granted may be
	// asked for.
	Fetcher *egress.Fetcher
	AnyURL  bool
	KV      bool
	Process bool
	// Session names the session operations.
	Session map[string]bool
	// Withheld are what the manifest asks for beside, and the operator did not grant.
	// They are named where they are missed; withheld secrets are the fetcher's business.
	Withheld []trust.RequestRecord
}

// lent reports whether an absolute path is of the files, or is the folder that one of the
// patterns begins in.
func (g Grants) lent(name string) bool {
	if !path.IsAbs(name) {
		return false
	}
	name = path.Clean(name)
	for _, pattern := range g.Files {
		base, _ := doublestar.SplitPattern(pattern)
		if matched, err := doublestar.Match(pattern, name); err == nil && matched || name == pattern || name == base {
			return true
		}
	}
	return false
}

// Access is what may be done below a root.
type Access string

// The accesses. Whoever may write may read.
const (
	AccessRead  Access = "read"
	AccessWrite Access = "write"
)

// Reach is what the calls of one plugin can get at.
type Reach struct {
	*Services
	Grants
}
