package dev

import (
	"context"
	"time"

	"github.com/plinthhost/plinth/host/author/golden"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/replay"
)

// Event is something an author is told. Kind says which of the fields are set; texts are
// those of the plugin and of its tools, and nothing to trust.
type Event struct {
	Kind Kind `json:"kind"`
	// Files, of saved, are those that are otherwise; empty for the first build.
	Files []string `json:"files,omitempty"`
	// Text is a line: of refused why there is no new version, of note something to know.
	Text    string          `json:"text,omitempty"`
	Built   *Built          `json:"built,omitempty"`
	Lines   []string        `json:"lines,omitempty"` // of changed: what the manifest says otherwise
	Served  *Served         `json:"served,omitempty"`
	Goldens []golden.Result `json:"goldens,omitempty"`
	Log     *Line           `json:"log,omitempty"`
	Failed  *Failed         `json:"failed,omitempty"`
	Rerun   *Rerun          `json:"rerun,omitempty"`
	// TookNS, of done, is from the first sign of the save; BuildNS what the build command
	// took of it.
	TookNS  int64 `json:"took_ns,omitempty"`
	BuildNS int64 `json:"build_ns,omitempty"`
}

// Took is the time since the first sign of the save.
func (e Event) Took() time.Duration { return time.Duration(e.TookNS) }

// Kind is what an event tells.
type Kind string

// The kinds. After each save come saved, then refused or built; built is followed by
// changed where the manifest is otherwise, serving with a host, goldens, rerun where a
// call failed before, and done. Saving meanwhile begins again with saved.
const (
	KindSaved   Kind = "saved"
	KindRefused Kind = "refused" // the build failed, or what it left is no plugin
	KindBuilt   Kind = "built"
	KindChanged Kind = "changed"
	KindServing Kind = "serving"
	KindGoldens Kind = "goldens"
	KindRerun   Kind = "rerun"
	KindDone    Kind = "done"
	KindLog     Kind = "log"    // a line that the plugin logged in the host
	KindFailed  Kind = "failed" // a call of a session that failed
	KindNote    Kind = "note"
)

// Built is what a build left.
type Built struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
	Bytes   int    `json:"bytes"` // packed
	TookNS  int64  `json:"took_ns"`
	// Offers are what it contributes, one line each; Requests the keys of what it asks for.
	Offers   []string `json:"offers"`
	Requests []string `json:"requests"`
}

// Served is what became of a version in the host.
type Served struct {
	// Active: it serves. Held: it waits for somebody to approve of it. Neither: it was
	// refused, and what served goes on.
	Active   bool   `json:"active"`
	Held     bool   `json:"held"`
	Revision string `json:"revision,omitempty"`
	// Reason says why it does not serve.
	Reason string `json:"reason,omitempty"`
	// Lines are what a held version says otherwise than the one that serves.
	Lines []string `json:"lines,omitempty"`
}

// Line is a line that a plugin logged.
type Line struct {
	Level string `json:"level"`
	Text  string `json:"text"`
}

// Failed is a call of a session that failed.
type Failed struct {
	Revision string `json:"revision"`
	Export   string `json:"export"`
	Session  string `json:"session,omitempty"`
	Call     string `json:"call,omitempty"`
	Outcome  string `json:"outcome"`
}

// Rerun is the call that failed last, made again by the new version with what the host
// answered then.
type Rerun struct {
	Failed
	// Now is the outcome of the new version; empty where it asked for something else than
	// recorded, which Diverged says.
	Now      string `json:"now,omitempty"`
	Diverged string `json:"diverged,omitempty"`
	// Passes: the new version answers, and with no error.
	Passes bool `json:"passes"`
}

// Host is where the plugin serves.
type Host interface {
	// Serve has a packed plugin serve. A version that is held or refused is no error.
	Serve(ctx context.Context, candidate plugin.Candidate) (Served, error)
	// Watch tells what the plugin does in the host until ctx ends, or with an error when it
	// cannot. Begun is called once nothing is missed.
	Watch(ctx context.Context, id string, begun func(), log func(Line), failed func(revision string, call *replay.Recording)) error
}
