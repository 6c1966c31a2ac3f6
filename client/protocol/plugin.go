package protocol

import "time"

// PluginsPath takes plugins: the body is a packed plugin of the type MimeWasm, or an
// AddPlugin as JSON.
const PluginsPath = "/v1/plugins"

// MimeWasm is the media type of a packed plugin.
const MimeWasm = "application/wasm"

// MaxPlugin bounds a packed plugin that is sent, in bytes.
const MaxPlugin = 24 << 20

// Plugin is one plugin in one scope, as the host knows it.
type Plugin struct {
	// ID is "owner/name"; empty when not even the manifest could be read.
	ID string `json:"id,omitempty"`
	// Location is the root of the project that it is of; empty for the global level.
	Location string `json:"location,omitempty"`
	// Version, Digest, Origin and Source are those of the version that serves, or else
	// waits, or else came last.
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"` // SHA-256 of the packed plugin, as hex
	// Origin is where it came from: "builtin core/files", a path of the host, a URL.
	Origin string `json:"origin"`
	// Source is how: builtin, folder, project, upload or url.
	Source string `json:"source,omitempty"`
	// Revision names the version that serves with its settings and grants.
	Revision string      `json:"revision,omitempty"`
	State    PluginState `json:"state"`
	// Serving: calls reach it.
	Serving bool `json:"serving,omitempty"`
	// Error is why the last version did not come to serve: the file, the field and the
	// fix. An earlier one may serve all the same.
	Error string `json:"error,omitempty"`
	// Attempts counts the starts that failed in a row.
	Attempts int `json:"attempts,omitempty"`
	// Configured: the configuration disables it.
	Configured bool `json:"configured,omitempty"`
	// Held is a version that waits for approval.
	Held          *HeldVersion         `json:"held,omitempty"`
	Contributions *PluginContributions `json:"contributions,omitempty"`
	// Requests are what its manifest asks for, each with whether it is granted.
	Requests []PluginRequest `json:"requests,omitempty"`
	// Limits are those that hold, by the manifest's names, as far as the manifest or the
	// operator set any.
	Limits    map[string]int64 `json:"limits,omitempty"`
	Isolation string           `json:"isolation,omitempty"`
	// Figures and Operations are of the host's process.
	Figures    *PluginFigures             `json:"figures,omitempty"`
	Operations map[string]OperationFigure `json:"operations,omitempty"` // by the operation's name
	Engine     *PluginEngine              `json:"engine,omitempty"`
	// Retiring are revisions that turns still use beside the one that serves.
	Retiring []string `json:"retiring,omitempty"`
	// Revisions are the latest, the newest last.
	Revisions []PluginRevision `json:"revisions,omitempty"`
	// Approvals are the versions somebody approved of, the newest last.
	Approvals []PluginApproval `json:"approvals,omitempty"`
	// Cursor is a place in the host's events: following from it misses nothing that is
	// newer than this.
	Cursor string `json:"cursor,omitempty"`
}

// PluginState is where a plugin stands.
type PluginState string

// The states.
const (
	PluginStaged      PluginState = "staged"
	PluginHeld        PluginState = "held"
	PluginActive      PluginState = "active"
	PluginFailed      PluginState = "failed"
	PluginDisabled    PluginState = "disabled"
	PluginQuarantined PluginState = "quarantined"
)

// HeldVersion is a version that waits for approval.
type HeldVersion struct {
	Digest  string `json:"digest"`
	Version string `json:"version"`
	Source  string `json:"source"`
	Origin  string `json:"origin"`
	Reason  string `json:"reason"`
	// Requests are what it asks for; granted are those that the version before has.
	Requests []PluginRequest `json:"requests,omitempty"`
	// Change is what it says otherwise than the version that serves; absent when none
	// does.
	Change *PluginChange `json:"change,omitempty"`
}

// PluginChange is how the manifests of two versions differ. Its texts are their author's,
// cleaned of what drives a terminal.
type PluginChange struct {
	From    string              `json:"from"` // versions
	To      string              `json:"to"`
	Lines   []string            `json:"lines"` // for people
	Entries []PluginChangeEntry `json:"entries"`
	// Omitted counts what is left out beyond a bound.
	Omitted int `json:"omitted,omitempty"`
}

// PluginChangeEntry is one thing that is there no more, is new, or is otherwise.
type PluginChangeEntry struct {
	// Part is request, requires, tool, context, provider, transform, limit, isolation or
	// config.
	Part   string `json:"part"`
	Name   string `json:"name"`
	Change string `json:"change"` // added, removed or changed
	// Wider: a request that allows what was not asked for before.
	Wider  bool                `json:"wider,omitempty"`
	Text   string              `json:"text,omitempty"`
	Fields []PluginChangeField `json:"fields,omitempty"`
}

// PluginChangeField is one value that is otherwise.
type PluginChangeField struct {
	Name string `json:"name"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// PluginContributions are the names of what it offers.
type PluginContributions struct {
	Tools      []string `json:"tools,omitempty"`
	Contexts   []string `json:"contexts,omitempty"` // keys
	Providers  []string `json:"providers,omitempty"`
	Transforms []string `json:"transforms,omitempty"`
}

// PluginRequest is one thing that a manifest asks for.
type PluginRequest struct {
	// Key names it in grants.
	Key string `json:"key"`
	// Text says it in words, to follow "it wants to"; Reason is the author's.
	Text    string `json:"text"`
	Reason  string `json:"reason,omitempty"`
	Granted bool   `json:"granted"`
}

// PluginFigures are what the calls of a revision came to.
type PluginFigures struct {
	Calls  int64  `json:"calls"`
	Faults int64  `json:"faults"` // calls that broke it
	Last   string `json:"last,omitempty"`
}

// OperationFigure is how often a host operation was asked for.
type OperationFigure struct {
	Made   int64 `json:"made"`
	Denied int64 `json:"denied,omitempty"`
	Failed int64 `json:"failed,omitempty"` // for any other reason
}

// PluginEngine is what the engine knows of a module that serves.
type PluginEngine struct {
	MemoryMiB  int64   `json:"memoryMiB"`            // the limit of an instance
	ImageBytes int64   `json:"imageBytes,omitempty"` // of its memory after initialisation; 0 before the first call
	Started    int     `json:"started"`              // instances since it was loaded
	Discarded  int     `json:"discarded,omitempty"`  // after a fault, for age or size, or to make room
	Idle       int     `json:"idle"`
	Leased     int     `json:"leased"`
	Parked     int     `json:"parked"` // they wait for something outside
	CompileMS  float64 `json:"compileMS"`
	StartMS    float64 `json:"startMS"`
	// Why says why the isolation is not the one that was asked for.
	Why string `json:"why,omitempty"`
}

// PluginRevision is one revision of a plugin.
type PluginRevision struct {
	Revision string `json:"revision"`
	Digest   string `json:"digest"`
	Version  string `json:"version"`
	Source   string `json:"source"`
	Origin   string `json:"origin"`
	State    string `json:"state"` // staged, active, retiring, retired or failed
	// Grants are the keys of the requests that it was granted.
	Grants []string `json:"grants,omitempty"`
	// Blocked: it was rolled back and does not come back by itself.
	Blocked bool `json:"blocked,omitempty"`
	// Proved: its probation is over.
	Proved    bool       `json:"proved,omitempty"`
	Faults    int        `json:"faults,omitempty"` // of its probation
	Error     string     `json:"error,omitempty"`
	Activated *time.Time `json:"activated,omitempty"`
}

// PluginApproval is what somebody granted a version.
type PluginApproval struct {
	Digest string   `json:"digest"`
	Grants []string `json:"grants"`
}

// PluginList lists the plugins in the order they were first known, then those that could
// not even be read.
type PluginList struct {
	Plugins []Plugin `json:"plugins"`
	// Trusted are the roots of the projects whose plugins may be approved.
	Trusted []string `json:"trusted,omitempty"`
	// Cursor is as a Plugin's.
	Cursor string `json:"cursor,omitempty"`
}

// AddPlugin has the host download a packed plugin.
type AddPlugin struct {
	URL string `json:"url"`
	// SHA256 is what the file is held to, as 64 hex digits; empty for anything.
	SHA256   string `json:"sha256,omitempty"`
	Location string `json:"location,omitempty"` // a folder of the project it is for
	// Grants are keys of requests that are granted with it; without, earlier approvals
	// decide.
	Grants []string `json:"grants,omitempty"`
}

// PluginAction is what becomes of a plugin.
type PluginAction string

// The actions.
const (
	ActionApprove  PluginAction = "approve"
	ActionRollback PluginAction = "rollback"
	ActionDisable  PluginAction = "disable"
	ActionEnable   PluginAction = "enable"
	ActionReload   PluginAction = "reload" // look again at where it came from
)

// ChangePlugin is an action on a plugin.
type ChangePlugin struct {
	Action PluginAction `json:"action"`
	// Digest, of approve, is how the digest of the version that is meant begins; empty for
	// the one that waits, or else the one that serves.
	Digest string `json:"digest,omitempty"`
	// Grants, of approve, are the keys of the requests that are granted; absent for all.
	Grants *[]string `json:"grants,omitempty"`
	// Revision, of rollback, is the one that is to serve; empty for the one before.
	Revision string `json:"revision,omitempty"`
}

// RemovePlugin says how a plugin is removed.
type RemovePlugin struct {
	// Purge: its stored values go at once, not after 30 days.
	Purge bool `json:"purge,omitempty"`
	// ForceMS is how long turns may go on with it, in milliseconds; 0 is to their end.
	ForceMS int64 `json:"forceMS,omitempty"`
}

// TrustFolder names a project by a folder in it.
type TrustFolder struct {
	Root string `json:"root"`
}

// TrustedFolder is a project whose plugins may be approved, with what is known of them.
type TrustedFolder struct {
	Root    string   `json:"root"`
	Plugins []Plugin `json:"plugins"`
}
