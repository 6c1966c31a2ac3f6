package abi

// Path names a file below a root. Root is "location" when empty; also "project"
// and "config". Path is relative to the root, or absolute and inside it. With the
// root "location" an absolute path may also lead outside, by the permission
// external_directory.
type Path struct {
	Root string `json:"root,omitempty"` // "location" when empty; "project" or "config"
	Path string `json:"path"`           // relative to the root, or absolute and inside it
}

// FSStat is the request of "fs.stat"; its ok is a FileInfo.
type FSStat struct {
	Path
}

// FileInfo describes a file.
type FileInfo struct {
	// Path is the canonical path relative to the root, with slashes, "." for the root.
	Path string `json:"path"`
	Name string `json:"name"` // the last part of Path
	Kind string `json:"kind"` // "file" or "directory"
	Size int64  `json:"size"` // bytes
	// ModifiedMS is milliseconds since 1970 UTC.
	ModifiedMS int64 `json:"modified_ms"`
}

// Kinds of a file.
const (
	FileRegular   = "file"
	FileDirectory = "directory"
)

// FSList is the request of "fs.list": direct children, directories first, then
// by name. Offset counts from 0. Limit is at most 2,000; 0 means that.
type FSList struct {
	Path
	Offset int `json:"offset,omitempty"` // entries to leave out; from 0
	Limit  int `json:"limit,omitempty"`  // entries; 0 and more than 2,000 mean 2,000
}

// FSListed is its ok. Next is the offset to go on from, 0 when it is through.
type FSListed struct {
	Path    string     `json:"path"`           // canonical, below the root
	Entries []FileInfo `json:"entries"`        // the page
	Next    int        `json:"next,omitempty"` // the offset to go on from; 0 when it is through
}

// FSRead is the request of "fs.read": up to Length bytes from Offset; Length is
// at most 1 MiB, 0 means that.
type FSRead struct {
	Path
	Offset int64 `json:"offset,omitempty"` // bytes to leave out; from 0
	Length int64 `json:"length,omitempty"` // bytes; 0 means 1 MiB, which is the most
}

// FSReadOK is its ok. Data refers to the answer's raw bytes.
type FSReadOK struct {
	Info FileInfo `json:"info"` // of the file
	Data Bytes    `json:"data"` // the bytes
	// EOF is set when Data reaches the end of the file.
	EOF bool `json:"eof"`
}

// FSAttach is the request of "fs.attach": keeps a whole file, at most 20 MiB, so that
// it can be part of an answer without passing through the guest.
type FSAttach struct {
	Path
}

// FSAttached is its ok.
type FSAttached struct {
	Info FileInfo `json:"info"` // of the file
	Blob Blob     `json:"blob"` // what to put into the answer's content
	Mime string   `json:"mime"` // told from the first bytes, or else from the name
}

// FSGlob is the request of "fs.glob": files below Path whose path fits Pattern. **
// stands for folders, * and ? stay within a name, {a,b} and [a-z] are choices.
type FSGlob struct {
	Path           // a folder; "" or "." is the root
	Pattern string `json:"pattern"`           // of the path below that folder
	Hidden  bool   `json:"hidden,omitempty"`  // also names that begin with a dot
	Ignored bool   `json:"ignored,omitempty"` // also what ignore files leave out
	// Folders makes it a listing: it answers folders too, and names also what reading
	// would ask for, as fs.list does.
	Folders bool `json:"folders,omitempty"`
	Newest  bool `json:"newest,omitempty"` // the latest changed first; otherwise by path
	Limit   int  `json:"limit,omitempty"`  // files; 0 and more than 10,000 mean 10,000
}

// FSFound is its ok.
type FSFound struct {
	Files []FileInfo `json:"files"` // the first of them, at most Limit
	// Matched counts all that fit and may be read; more than Files when cut.
	Matched int `json:"matched"`
	FSPassed
}

// FSPassed says what a search has passed over.
type FSPassed struct {
	Asks       int  `json:"asks,omitempty"`       // files that a person would be asked for
	Denied     int  `json:"denied,omitempty"`     // files that the rules refuse
	Unreadable int  `json:"unreadable,omitempty"` // files and folders that could not be read
	Partial    bool `json:"partial,omitempty"`    // the time was over before all was looked at
}

// FSGrep is the request of "fs.grep": lines that fit Pattern, a regular expression in
// the syntax of RE2, in the files below Path or in the file that it names.
type FSGrep struct {
	Path
	Pattern    string   `json:"pattern"`               // of one line, without its end
	Literal    bool     `json:"literal,omitempty"`     // Pattern is text
	IgnoreCase bool     `json:"ignore_case,omitempty"` // upper case counts as lower case
	Include    []string `json:"include,omitempty"`     // globs; with "!" in front they leave out
	Hidden     bool     `json:"hidden,omitempty"`      // as with fs.glob
	Ignored    bool     `json:"ignored,omitempty"`     // as with fs.glob
	Context    int      `json:"context,omitempty"`     // lines before and after; at most 20
	PerFile    int      `json:"per_file,omitempty"`    // matching lines of a file; 0 means Limit
	Width      int      `json:"width,omitempty"`       // bytes of a line; 0 means 500, at most 10,000
	Limit      int      `json:"limit,omitempty"`       // matching lines; 0 and more than 10,000 mean 10,000
}

// FSMatched is its ok.
type FSMatched struct {
	Files   []FSMatchedFile `json:"files"`          // by path
	Matches int             `json:"matches"`        // lines in Files that are no context
	More    bool            `json:"more,omitempty"` // a limit has left lines out
	FSPassed
}

// FSMatchedFile is a file with lines that fit.
type FSMatchedFile struct {
	Path  string   `json:"path"`           // canonical, below the root
	Lines []FSLine `json:"lines"`          // those that fit, with their context, by number
	More  bool     `json:"more,omitempty"` // lines of it were left out
}

// FSLine is one line.
type FSLine struct {
	Number int    `json:"number"` // from 1
	Text   string `json:"text"`   // the line without its end
	// Match is set when it fits; otherwise it is context.
	Match bool `json:"match,omitempty"`
	// Cut is set when Text is a part of the line.
	Cut bool `json:"cut,omitempty"`
}

// FSCommit is the request of "fs.commit": changes that are looked at together, asked
// for once, and then made without a stop between.
type FSCommit struct {
	Root    string     `json:"root,omitempty"` // "location" when empty; also "project"
	Changes []FSChange `json:"changes"`        // 1 to 500
}

// FSChange is one of them.
type FSChange struct {
	Op   string `json:"op"`           // "write", "remove" or "rename"
	Path string `json:"path"`         // the file, below the root
	To   string `json:"to,omitempty"` // of a rename; nothing may be there
	// Expect is what must be there: the SHA-256 of the file's content in hexadecimal,
	// "absent" for no file, "" for anything.
	Expect string `json:"expect,omitempty"`
	Data   *Bytes `json:"data,omitempty"` // of a write, or of a rename that changes the file too, in the raw bytes; or Text
	Text   string `json:"text,omitempty"` // what is written, as UTF-8
	// Mode is permission bits; 0 keeps those that are there.
	Mode uint32 `json:"mode,omitempty"`
	// Parents makes the folders that are missing.
	Parents bool `json:"parents,omitempty"`
}

// FSCommitted is its ok: all changes were made, or a part of them. An error means
// that none was. Changes are in their order.
type FSCommitted struct {
	Changes []FSChanged `json:"changes"` // one for each change
}

// FSChanged is what became of a change.
type FSChanged struct {
	Path    string `json:"path"`              // the file that it was about, links resolved
	To      string `json:"to,omitempty"`      // likewise, of a rename
	Outcome string `json:"outcome"`           // "done", "failed" or "not_done"
	Existed bool   `json:"existed,omitempty"` // a write found a file there
	Error   *Error `json:"error,omitempty"`   // of a failed one
}
