package protocol

// RehearsePath is where a new version of a plugin is sent to be rehearsed.
const RehearsePath = "/v1/plugins/rehearse"

// Rehearsal is what a new version of a plugin does otherwise than the one that serves,
// with what a session has recorded.
type Rehearsal struct {
	Plugin string `json:"plugin"`
	// Location is the project's root whose plugin it is; empty for the global level.
	Location  string           `json:"location,omitempty"`
	SessionID string           `json:"session_id"`
	Serving   RehearsedVersion `json:"serving"`
	New       RehearsedVersion `json:"new"`
	// Same: nothing differs.
	Same  bool `json:"same"`
	Turns int  `json:"turns"` // that were rehearsed
	// Manifest is what the new manifest says otherwise, one line for each thing.
	Manifest []string `json:"manifest"`
	// Withheld are the keys of the requests of the new version that are not approved; it was
	// refused them.
	Withheld []string           `json:"withheld"`
	Checks   []RehearsalCheck   `json:"checks"`
	Findings []RehearsalFinding `json:"findings"`
	Omitted  int                `json:"omitted,omitempty"` // findings beyond 100
}

// RehearsedVersion is one of the two versions.
type RehearsedVersion struct {
	Version  string `json:"version"`
	Digest   string `json:"digest"`   // SHA-256 of the packed plugin
	Revision string `json:"revision"` // with the operator's terms
}

// RehearsalCheck counts the comparisons of a kind.
type RehearsalCheck struct {
	// Kind is context, transform, encode, classify, decode or tool.
	Kind     string `json:"kind"`
	Compared int    `json:"compared"`
	Differ   int    `json:"differ"`
	// Note says why nothing was compared, or less than there is.
	Note string `json:"note,omitempty"`
}

// RehearsalFinding is a comparison that came out differently.
type RehearsalFinding struct {
	Kind string `json:"kind"`
	Name string `json:"name"` // of the source, transform, provider or tool
	// On is what both were given: a message, a call, a status or a recording; empty for the
	// session as it is now.
	On      string            `json:"on,omitempty"`
	Changes []RehearsalChange `json:"changes"` // 20 at most
}

// RehearsalChange is one place where the answers part. Values are JSON; long ones are
// shown from where they part.
type RehearsalChange struct {
	Path string `json:"path"` // empty for the whole answer
	Old  string `json:"old"`
	New  string `json:"new"`
}
