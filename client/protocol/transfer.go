package protocol

import "time"

// ImportPath takes an exported session: the body is the file.
const ImportPath = "/v1/sessions/import"

// MaxImport bounds the file of an import, in bytes.
const MaxImport = 16 << 30

// MimeBundle is the media type of an exported session.
const MimeBundle = "application/x-ndjson"

// ImportResult is what an import did.
type ImportResult struct {
	Sessions []ImportedSession `json:"sessions"`
}

// ImportedSession is one session of the file.
type ImportedSession struct {
	Session string `json:"session"`
	// Events is how many were new here; 0 for a session that was here already.
	Events int64 `json:"events"`
	// Interrupted: it was exported in the middle of something, which ended here as
	// interrupted.
	Interrupted bool `json:"interrupted,omitempty"`
}

// ShareFormat is the form of a transcript for people.
type ShareFormat string

// The forms.
const (
	ShareHTML     ShareFormat = "html"
	ShareMarkdown ShareFormat = "markdown"
	ShareJSON     ShareFormat = "json"
)

// ShareFormats answers them all.
func ShareFormats() []ShareFormat { return []ShareFormat{ShareHTML, ShareMarkdown, ShareJSON} }

// MediaType is what the form is in HTTP.
func (f ShareFormat) MediaType() string {
	switch f {
	case ShareHTML:
		return "text/html; charset=utf-8"
	case ShareMarkdown:
		return "text/markdown; charset=utf-8"
	default:
		return "application/json"
	}
}

// ShareSession says how a transcript is to look.
type ShareSession struct {
	Format ShareFormat `json:"format"`
	// Reasoning keeps what the model thought.
	Reasoning bool `json:"reasoning,omitempty"`
}

// CreateBackup says where a backup goes.
type CreateBackup struct {
	// Folder is an absolute path on the host's machine, of an empty folder or of none.
	Folder string `json:"folder"`
}

// Backup is one that was made.
type Backup struct {
	Folder  string    `json:"folder"`
	Created time.Time `json:"created"`
	// Log is the id of the log that was backed up.
	Log       string `json:"log"`
	Bytes     int64  `json:"bytes"` // of the database
	Blobs     int64  `json:"blobs"`
	BlobBytes int64  `json:"blob_bytes"`
	// Plugins that are kept by digest.
	Plugins     int64 `json:"plugins,omitempty"`
	PluginBytes int64 `json:"plugin_bytes,omitempty"`
	// Damaged are blobs that were not what their name says and were left out.
	Damaged []string `json:"damaged,omitempty"`
	// Missing hold the data of events, and were not there to be backed up.
	Missing []string `json:"missing,omitempty"`
}
