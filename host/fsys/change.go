package fsys

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"regexp"
)

// MaxChanges is the most changes of one commit.
const MaxChanges = 500

// Op is what a change does.
type Op string

// The operations.
const (
	OpWrite  Op = "write"
	OpRemove Op = "remove"
	OpRename Op = "rename"
)

// Absent is expected where no file may be.
const Absent = "absent"

// Digest is what a change expects of a file with this content: SHA-256 in
// hexadecimal.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Change is one step of a commit.
type Change struct {
	Op   Op
	Path string // as in Roots.Open; it may be a link to be written through, not to be removed or renamed
	To   string // the new path of a rename; nothing may be there
	// Expect is what must be at Path: Absent (write only), the Digest of a file, or
	// "" for anything.
	Expect string
	// Data is what is written. A rename with Data, which is not nil then, gives the file
	// this content under its new path, in one step for all who look at that.
	Data []byte
	// Mode is the permission bits of a written file. 0 keeps those of the file that
	// is there and gives a new one 0644 less the umask.
	Mode    fs.FileMode
	Parents bool // make the folders that are missing on the way
}

// check refuses what is no change, whatever the files are.
func (c Change) check() error {
	text := ""
	switch c.Op {
	case OpWrite, OpRemove, OpRename:
	default:
		text = fmt.Sprintf("%q is no operation; a change is a write, a remove or a rename", c.Op)
	}
	switch {
	case text != "":
	case c.Path == "":
		text = "the change names no file"
	case (c.Op == OpRename) != (c.To != ""):
		text = "a rename needs a new path, and only a rename has one"
	case c.Op == OpRemove && c.Data != nil:
		text = "data belongs to a write or a rename"
	case c.Op != OpWrite && (c.Mode != 0 || c.Expect == Absent):
		text = "a mode and the expectation that nothing is there belong to a write"
	case c.Mode&^fs.ModePerm != 0:
		text = "the mode has more than permission bits"
	case c.Expect != "" && c.Expect != Absent && !digestForm.MatchString(c.Expect):
		text = `what is expected must be "", "absent" or a SHA-256 in 64 lower-case hexadecimal digits`
	default:
		return nil
	}
	return &Error{Kind: KindInvalid, Path: c.Path, Text: text}
}

var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Outcome is what became of a change.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"
	Failed  Outcome = "failed"
	NotDone Outcome = "not_done"
)

// Changed is the result of one change.
type Changed struct {
	Path    string // the identity
	To      string // the new identity of a rename
	Outcome Outcome
	Existed bool // a write found a file there
	Err     *Error
}
