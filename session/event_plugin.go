package session

import "encoding/json"

// The events of plugins belong to the host. A plugin stands in a scope: its id and a
// Location, the root of a project, empty for the global level. What plugins are active
// is a fold of these events.

// PluginStaged: a revision is known and its bytes are kept. It is being proved.
type PluginStaged struct {
	Plugin   string `json:"plugin"` // owner/name
	Location string `json:"location,omitempty"`
	Revision string `json:"revision"`
	Digest   string `json:"digest"` // SHA-256 of the packed plugin, as hex
	Version  string `json:"version"`
	// Source is how it came: builtin, folder, project, upload, url or native.
	Source string `json:"source"`
	Origin string `json:"origin"` // for people: a path, an address
	// Terms are what the operator says of it: settings, grants, limits.
	Terms json.RawMessage `json:"terms"`
}

// PluginHeld: a version waits until somebody approves of it. What serves goes on.
type PluginHeld struct {
	Plugin   string `json:"plugin"`
	Location string `json:"location,omitempty"`
	Digest   string `json:"digest"`
	Version  string `json:"version"`
	Source   string `json:"source"`
	Origin   string `json:"origin"`
	Reason   string `json:"reason"`
}

// PluginApproved: somebody grants a version what it may use.
type PluginApproved struct {
	Plugin   string `json:"plugin"`
	Location string `json:"location,omitempty"`
	Digest   string `json:"digest"`
	// Grants are the keys of the requests that are granted.
	Grants []string `json:"grants"`
	// Requests are all that it asked for.
	Requests json.RawMessage `json:"requests"`
}

// PluginActivated: the revision serves from here on, in the place of the one before,
// which retires when the last turn that pinned it has ended.
type PluginActivated struct {
	Plugin   string `json:"plugin"`
	Location string `json:"location,omitempty"`
	Revision string `json:"revision"`
	Replaces string `json:"replaces,omitempty"`
}

// PluginStarted: a revision whose starts failed has started.
type PluginStarted struct {
	Plugin   string `json:"plugin"`
	Location string `json:"location,omitempty"`
	Revision string `json:"revision"`
}

// PluginProved: the revision has served for its probation without too many faults.
type PluginProved struct {
	Plugin   string `json:"plugin"`
	Location string `json:"location,omitempty"`
	Revision string `json:"revision"`
}

// PluginFaulted: a call of a revision on probation broke it.
type PluginFaulted struct {
	Plugin   string `json:"plugin"`
	Location string `json:"location,omitempty"`
	Revision string `json:"revision"`
	Session  string `json:"session,omitempty"`
	Fault    string `json:"fault"`
	Message  string `json:"message"`
}

// PluginRetired: no turn uses the revision any more and its resources are returned.
type PluginRetired struct {
	Plugin   string `json:"plugin"`
	Location string `json:"location,omitempty"`
	Revision string `json:"revision"`
	// Superseded: it was ended while turns used it.
	Superseded bool `json:"superseded,omitempty"`
}

// PluginFailed: a version did not come to serve. What serves goes on.
type PluginFailed struct {
	Plugin   string `json:"plugin"`
	Location string `json:"location,omitempty"`
	Revision string `json:"revision,omitempty"` // empty when it was not staged
	Digest   string `json:"digest,omitempty"`
	Version  string `json:"version,omitempty"`
	Source   string `json:"source,omitempty"`
	Origin   string `json:"origin,omitempty"`
	// Stage is what it failed at: read, settings, load, golden, contribute or start.
	Stage   string `json:"stage"`
	Message string `json:"message"`
	// Attempt counts the starts of an active revision that failed in a row; 0 for one
	// that was not active.
	Attempt int `json:"attempt,omitempty"`
}

// PluginRolledBack: an earlier revision serves again. The one that served does not come
// back by itself.
type PluginRolledBack struct {
	Plugin   string `json:"plugin"`
	Location string `json:"location,omitempty"`
	Revision string `json:"revision"` // that serves from here on
	From     string `json:"from"`
	Reason   string `json:"reason"`
}

// PluginQuarantined: the plugin serves no more until somebody enables it. What sessions
// were told by it stays told.
type PluginQuarantined struct {
	Plugin   string `json:"plugin"`
	Location string `json:"location,omitempty"`
	Revision string `json:"revision"`
	Reason   string `json:"reason"`
}

// PluginDisabled: the plugin serves no more, as if it were removed, but is remembered.
type PluginDisabled struct {
	Plugin   string `json:"plugin"`
	Location string `json:"location,omitempty"`
	// Configured: by the configuration, which can take it back.
	Configured bool `json:"configured,omitempty"`
}

// PluginEnabled: a disabled or quarantined plugin may serve again.
type PluginEnabled struct {
	Plugin   string `json:"plugin"`
	Location string `json:"location,omitempty"`
}

// PluginRemoved: the plugin is gone with its revisions and approvals.
type PluginRemoved struct {
	Plugin   string `json:"plugin"`
	Location string `json:"location,omitempty"`
	// Purged: its stored values go at once, not after 30 days.
	Purged bool `json:"purged,omitempty"`
}

// FolderTrusted: plugins of the project may be approved.
type FolderTrusted struct {
	Root string `json:"root"`
}

// FolderDistrusted takes that back, with the plugins of the project.
type FolderDistrusted struct {
	Root string `json:"root"`
}

func (PluginStaged) EventType() string      { return "host.plugin.staged" }
func (PluginHeld) EventType() string        { return "host.plugin.held" }
func (PluginApproved) EventType() string    { return "host.plugin.approved" }
func (PluginActivated) EventType() string   { return "host.plugin.activated" }
func (PluginStarted) EventType() string     { return "host.plugin.started" }
func (PluginProved) EventType() string      { return "host.plugin.proved" }
func (PluginFaulted) EventType() string     { return "host.plugin.faulted" }
func (PluginRetired) EventType() string     { return "host.plugin.retired" }
func (PluginFailed) EventType() string      { return "host.plugin.failed" }
func (PluginRolledBack) EventType() string  { return "host.plugin.rolled_back" }
func (PluginQuarantined) EventType() string { return "host.plugin.quarantined" }
func (PluginDisabled) EventType() string    { return "host.plugin.disabled" }
func (PluginEnabled) EventType() string     { return "host.plugin.enabled" }
func (PluginRemoved) EventType() string     { return "host.plugin.removed" }
func (FolderTrusted) EventType() string     { return "host.folder.trusted" }
func (FolderDistrusted) EventType() string  { return "host.folder.distrusted" }
