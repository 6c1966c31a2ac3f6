// Package outputs keeps the text of tool outputs that were too large for a
// transcript, each in a file of its own, for some days. The transcript has a preview
// and the path; nothing depends on the file being there.
//
//	files := outputs.New(outputs.Options{Folder: "/home/me/.local/share/plinth/tool-output"})
//	files.Start(ctx)
//	path, err := files.Keep(ctx, "ses_…", text)
//	...
//	files.Close()
package outputs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
)

// Prefix begins the name of every file; the rest is an ascending id. What is named
// otherwise is never touched.
const Prefix = "tool_"

// DefaultKeep is how long a file stays after it was written.
const DefaultKeep = 7 * 24 * time.Hour

// attempts is how many names are tried. An id has 14 random characters, so a second
// one is needed only by a clock and a random source that both repeat themselves.
const attempts = 3

// Options say where files are kept and how long.
type Options struct {
	// Folder is absolute. It is made when missing, 0700.
	Folder string
	// Keep is how long a file stays, by its time of change; DefaultKeep when 0.
	Keep   time.Duration
	Clock  session.Clock // the system's when nil
	Logger hclog.Logger  // none when nil
}

// Files are the files of one folder. It is a session.OutputFiles.
type Files struct {
	options Options
	ids     *session.IDs

	mu      sync.Mutex
	stop    context.CancelFunc // nil before Start
	closed  bool
	cleaner sync.WaitGroup
}

var _ session.OutputFiles = (*Files)(nil)

// New does nothing yet: files can be kept without Start, but then stay for ever.
func New(options Options) *Files {
	if options.Keep <= 0 {
		options.Keep = DefaultKeep
	}
	if options.Clock == nil {
		options.Clock = session.SystemClock{}
	}
	if options.Logger == nil {
		options.Logger = hclog.NewNullLogger()
	}
	return &Files{options: options, ids: session.NewIDs(options.Clock)}
}

// Keep writes the text to a new file, 0600, and answers its path. When it fails
// there is no file.
//
// The content is on the disk when Keep returns, the file's name need not be: after a
// loss of power the event with the path is there, and a file that is missing is told
// as missing, while one that is short would be read as if it were the whole.
func (f *Files) Keep(ctx context.Context, session, text string) (path string, err error) {
	if ctx.Err() != nil {
		return "", fmt.Errorf("keep a tool's output: %w", context.Cause(ctx))
	}
	file, err := f.create()
	if err != nil {
		return "", fmt.Errorf("keep a tool's output: %w", err)
	}
	_, err = file.WriteString(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("keep a tool's output: %w", errors.Join(err, os.Remove(file.Name())))
	}
	f.options.Logger.Debug("kept a tool's output", "session", session, "path", file.Name(), "bytes", len(text))
	return file.Name(), nil
}

// create makes the folder too: somebody may have removed it to make room.
func (f *Files) create() (file *os.File, err error) {
	if err := os.MkdirAll(f.options.Folder, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(f.options.Folder, 0o700); err != nil {
		return nil, err
	}
	for range attempts {
		path := filepath.Join(f.options.Folder, f.ids.New(Prefix))
		file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return file, err
}
