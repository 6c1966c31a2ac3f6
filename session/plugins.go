package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/plinthhost/plinth/store"
)

// PluginState is where a plugin stands.
type PluginState string

// The states of a plugin.
const (
	PluginStateStaged      PluginState = "staged"      // a first version is being proved
	PluginStateHeld        PluginState = "held"        // a first version waits for approval
	PluginStateActive      PluginState = "active"      // a revision serves
	PluginStateFailed      PluginState = "failed"      // no version came to serve
	PluginStateDisabled    PluginState = "disabled"    // by somebody
	PluginStateQuarantined PluginState = "quarantined" // by itself, until somebody enables it
)

// RevisionState is where a revision of a plugin stands.
type RevisionState string

// The states of a revision.
const (
	RevisionStaged   RevisionState = "staged"
	RevisionActive   RevisionState = "active"
	RevisionRetiring RevisionState = "retiring" // turns still use it
	RevisionRetired  RevisionState = "retired"
	RevisionFailed   RevisionState = "failed"
)

// Plugin is what the log knows of a plugin in a scope.
type Plugin struct {
	ID       string
	Location string // a project's root; empty for the global level
	Seq      int64  // of the event that it was first known by
	State    PluginState
	// Revision serves, or did when the plugin was disabled or quarantined.
	Revision string
	// Held is a version that waits for approval.
	Held *PluginHeld
	// Failed is the version that did not come to serve since the last one that did.
	Failed   *PluginFailed
	Error    string // why the last version did not come to serve
	Attempts int    // starts of the revision that failed in a row
	// Configured: the configuration disabled it.
	Configured bool
	Changed    int64 // milliseconds since 1970 UTC
	// Revisions are the latest, the newest last.
	Revisions []PluginRevision
	// Approvals are the latest versions somebody approved of, the newest last, with those
	// of Revisions.
	Approvals []PluginApproved
}

// PluginRevision is one revision of a plugin.
type PluginRevision struct {
	PluginStaged
	Seq       int64 // of the event that staged it last
	State     RevisionState
	Blocked   bool // it was rolled back and does not come back by itself
	Error     string
	Faults    []PluginFault // of its probation
	Proved    bool          // its probation is over
	Activated int64         // milliseconds since 1970 UTC; 0 when it never was
}

// PluginFault is a call that broke a revision on probation.
type PluginFault struct {
	Session string `json:"session,omitempty"`
	Fault   string `json:"fault"`
	Message string `json:"message"`
	At      int64  `json:"at"` // milliseconds since 1970 UTC
}

// Current is the revision that serves, nil when there is none.
func (p *Plugin) Current() *PluginRevision {
	if p.Revision == "" {
		return nil
	}
	return p.At(p.Revision)
}

// At is a revision by its name, nil when it is not known.
func (p *Plugin) At(revision string) *PluginRevision {
	for i := range p.Revisions {
		if p.Revisions[i].Revision == revision {
			return &p.Revisions[i]
		}
	}
	return nil
}

// Plugins keeps what becomes of plugins in the log of the host.
type Plugins struct {
	log     store.Log
	encoder Encoder
}

// NewPlugins makes the door to the plugins' part of the log.
func NewPlugins(log store.Log, encoder Encoder) *Plugins { return &Plugins{log: log, encoder: encoder} }

// Record appends events of plugins, all or none. When it returns they are durable.
func (p *Plugins) Record(ctx context.Context, origin Origin, payloads ...Payload) error {
	events, err := p.encoder.Encode(origin, payloads...)
	if err != nil {
		return err
	}
	if _, err = p.log.Append(ctx, store.Batch{Aggregate: Host, Mode: store.Any(), Events: events}); err != nil {
		return fmt.Errorf("record what became of a plugin: %w", err)
	}
	return nil
}

// All answers the plugins in the order they were first known, and the projects whose
// plugins may be approved.
func (p *Plugins) All(ctx context.Context) (all []Plugin, trusted []string, err error) {
	err = p.log.View(ctx, func(tx store.Tx) error {
		if all, err = loadPlugins(ctx, tx, ""); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT root FROM trusted_folder`)
		trusted, err = collect(rows, err, scanText)
		slices.Sort(trusted)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the plugins: %w", err)
	}
	return all, trusted, nil
}

// Get answers one plugin. ErrNotFound when the log knows none of that id there.
func (p *Plugins) Get(ctx context.Context, id, location string) (found Plugin, err error) {
	err = p.log.View(ctx, func(tx store.Tx) error {
		all, err := loadPlugins(ctx, tx, id)
		at := slices.IndexFunc(all, func(plugin Plugin) bool { return plugin.Location == location })
		if err == nil && at < 0 {
			err = fmt.Errorf("plugin %s: %w", clip(id), ErrNotFound)
		}
		if err == nil {
			found = all[at]
		}
		return err
	})
	return found, err
}

// loadPlugins reads those of an id, all when it is empty.
func loadPlugins(ctx context.Context, tx store.Tx, id string) ([]Plugin, error) {
	rows, err := tx.Query(ctx, `SELECT plugin, location, seq, state, revision, held, failed, error, attempts, configured, changed_ms FROM plugin
		WHERE plugin = $1 OR $2 = '' ORDER BY seq`, id, id)
	all, err := collect(rows, err, scanPlugin)
	if err != nil {
		return nil, err
	}
	at := make(map[[2]string]*Plugin, len(all))
	for i := range all {
		at[[2]string{all[i].ID, all[i].Location}] = &all[i]
	}
	rows, err = tx.Query(ctx, selectRevisions+` WHERE plugin = $1 OR $2 = '' ORDER BY seq`, id, id)
	revisions, err := collect(rows, err, scanPluginRevision)
	if err != nil {
		return nil, err
	}
	for _, revision := range revisions {
		if plugin := at[[2]string{revision.Plugin, revision.Location}]; plugin != nil {
			plugin.Revisions = append(plugin.Revisions, revision)
		}
	}
	rows, err = tx.Query(ctx, `SELECT body FROM plugin_approval WHERE plugin = $1 OR $2 = '' ORDER BY seq`, id, id)
	bodies, err := collect(rows, err, scanText)
	if err != nil {
		return nil, err
	}
	for _, body := range bodies {
		var approved PluginApproved
		if err := json.Unmarshal([]byte(body), &approved); err != nil {
			return nil, err
		}
		if plugin := at[[2]string{approved.Plugin, approved.Location}]; plugin != nil {
			plugin.Approvals = append(plugin.Approvals, approved)
		}
	}
	return all, nil
}

func scanPlugin(row store.Row) (Plugin, error) {
	var p Plugin
	var state, held, failed string
	if err := row.Scan(&p.ID, &p.Location, &p.Seq, &state, &p.Revision, &held, &failed, &p.Error, &p.Attempts, &p.Configured, &p.Changed); err != nil {
		return Plugin{}, err
	}
	p.State = PluginState(state)
	if held != "" {
		if err := json.Unmarshal([]byte(held), &p.Held); err != nil {
			return Plugin{}, err
		}
	}
	if failed != "" {
		if err := json.Unmarshal([]byte(failed), &p.Failed); err != nil {
			return Plugin{}, err
		}
	}
	return p, nil
}

const selectRevisions = `SELECT seq, body, state, blocked, error, faults, activated_ms, proved FROM plugin_revision`

func scanPluginRevision(row store.Row) (PluginRevision, error) {
	var r PluginRevision
	var body, state, faults string
	if err := row.Scan(&r.Seq, &body, &state, &r.Blocked, &r.Error, &faults, &r.Activated, &r.Proved); err != nil {
		return PluginRevision{}, err
	}
	r.State = RevisionState(state)
	if err := json.Unmarshal([]byte(body), &r.PluginStaged); err != nil {
		return PluginRevision{}, err
	}
	if faults != "" {
		if err := json.Unmarshal([]byte(faults), &r.Faults); err != nil {
			return PluginRevision{}, err
		}
	}
	return r, nil
}

func loadPluginRevision(ctx context.Context, tx store.Tx, plugin, location, revision string) (PluginRevision, error) {
	rows, err := tx.Query(ctx, selectRevisions+` WHERE plugin = $1 AND location = $2 AND revision = $3`, plugin, location, revision)
	found, err := collect(rows, err, scanPluginRevision)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("revision %s of plugin %s: %w", revision, plugin, ErrNotFound)
	}
	if err != nil {
		return PluginRevision{}, err
	}
	return found[0], nil
}
