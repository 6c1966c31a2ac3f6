package abi

// Names of the host operations of this minor.
const (
	OpLog      = "log"
	OpProgress = "progress"
	OpFSStat   = "fs.stat"
	OpFSList   = "fs.list"
	OpFSRead   = "fs.read"
)

// Log is the request of "log". Level is "debug", "info", "warn" or "error".
type Log struct {
	Level   string `json:"level"`
	Message string `json:"message"`
}

// Progress is the request of "progress": a line about a tool call under way.
type Progress struct {
	Text string `json:"text"`
}

// Path names a file below a root. Root is "location" when empty; also "project"
// and "config". Path is relative to the root, or absolute and inside it.
type Path struct {
	Root string `json:"root,omitempty"`
	Path string `json:"path"`
}

// FSStat is the request of "fs.stat"; its ok is a FileInfo.
type FSStat struct {
	Path
}

// FileInfo describes a file.
type FileInfo struct {
	// Path is the canonical path relative to the root, with slashes, "." for the root.
	Path string `json:"path"`
	Name string `json:"name"`
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
	Offset int `json:"offset,omitempty"`
	Limit  int `json:"limit,omitempty"`
}

// FSListed is its ok. Next is the offset to go on from, 0 when it is through.
type FSListed struct {
	Path    string     `json:"path"`
	Entries []FileInfo `json:"entries"`
	Next    int        `json:"next,omitempty"`
}

// FSRead is the request of "fs.read": up to Length bytes from Offset; Length is
// at most 1 MiB, 0 means that.
type FSRead struct {
	Path
	Offset int64 `json:"offset,omitempty"`
	Length int64 `json:"length,omitempty"`
}

// FSReadOK is its ok. Data refers to the answer's raw bytes.
type FSReadOK struct {
	Info FileInfo `json:"info"`
	Data Bytes    `json:"data"`
	// EOF is set when Data reaches the end of the file.
	EOF bool `json:"eof"`
}
