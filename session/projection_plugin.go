package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/plinthhost/plinth/store"
)

// keptRevisions is how many ended revisions of a plugin are remembered beside those that
// are not.
const keptRevisions = 10

// keptApprovals is how many approved versions of a plugin are remembered beside those of
// known revisions. One that is forgotten is asked about again; the last one, which later
// versions are held against, never is.
const keptApprovals = 50

// onPlugin projects the events of plugins.
func (p projector) onPlugin(payload Payload) (bool, error) { //nolint:cyclop,funlen // a table
	switch e := payload.(type) {
	case PluginStaged:
		return true, p.pluginStaged(e)
	case PluginHeld:
		return true, p.pluginHeld(e)
	case PluginApproved:
		return true, p.pluginApproved(e)
	case PluginActivated:
		return true, p.pluginActivated(e)
	case PluginStarted:
		return true, p.setPlugin(e.Plugin, e.Location, `failed = '', error = '', attempts = 0`)
	case PluginProved:
		return true, p.setRevision(e.Plugin, e.Location, e.Revision, `proved = 1`)
	case PluginFaulted:
		return true, p.pluginFaulted(e)
	case PluginRetired:
		return true, p.pluginRetired(e)
	case PluginFailed:
		return true, p.pluginFailed(e)
	case PluginRolledBack:
		return true, p.pluginRolledBack(e)
	case PluginQuarantined:
		return true, p.pluginQuarantined(e)
	case PluginDisabled:
		return true, p.pluginDisabled(e)
	case PluginEnabled:
		return true, p.setPlugin(e.Plugin, e.Location,
			`state = CASE WHEN held <> '' AND revision = '' THEN 'held' ELSE 'staged' END, configured = 0, failed = '', error = '', attempts = 0`)
	case PluginRemoved:
		return true, p.pluginRemoved(e)
	case FolderTrusted:
		return true, p.exec(`INSERT INTO trusted_folder (root, trusted_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING`, e.Root, p.at)
	case FolderDistrusted:
		return true, p.folderDistrusted(e)
	}
	return false, nil
}

// knowPlugin makes the plugin's row when it has none.
func (p projector) knowPlugin(plugin, location string, state PluginState) error {
	return p.exec(`INSERT INTO plugin (plugin, location, seq, state, revision, held, failed, error, attempts, configured, changed_ms)
		VALUES ($1, $2, $3, $4, '', '', '', '', 0, 0, $5) ON CONFLICT DO NOTHING`, plugin, location, p.seq, string(state), p.at)
}

// setPlugin changes the plugin's row, which must be there. The arguments are those of
// set, from $1.
func (p projector) setPlugin(plugin, location, set string, args ...any) error {
	n := len(args)
	query := fmt.Sprintf(`UPDATE plugin SET %s, changed_ms = $%d WHERE plugin = $%d AND location = $%d`, set, n+1, n+2, n+3)
	affected, err := p.tx.Exec(p.ctx, query, append(args, p.at, plugin, location)...)
	if err == nil && affected != 1 {
		err = fmt.Errorf("plugin %s: %w", plugin, ErrNotFound)
	}
	return err
}

// setRevision changes the row of a revision, which must be there, as setPlugin does.
func (p projector) setRevision(plugin, location, revision, set string, args ...any) error {
	n := len(args)
	query := fmt.Sprintf(`UPDATE plugin_revision SET %s WHERE plugin = $%d AND location = $%d AND revision = $%d`, set, n+1, n+2, n+3)
	affected, err := p.tx.Exec(p.ctx, query, append(args, plugin, location, revision)...)
	if err == nil && affected != 1 {
		err = fmt.Errorf("revision %s of plugin %s: %w", revision, plugin, ErrNotFound)
	}
	return err
}

// pluginStaged keeps the state of a revision that serves or is on its way out.
func (p projector) pluginStaged(e PluginStaged) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := p.knowPlugin(e.Plugin, e.Location, PluginStateStaged); err != nil {
		return err
	}
	return p.exec(`INSERT INTO plugin_revision (plugin, location, revision, seq, body, state, blocked, error, faults, activated_ms, proved)
		VALUES ($1, $2, $3, $4, $5, $6, 0, '', '', 0, 0)
		ON CONFLICT DO UPDATE SET seq = excluded.seq, body = excluded.body, error = '',
			state = CASE WHEN state IN ('active', 'retiring') THEN state ELSE excluded.state END`,
		e.Plugin, e.Location, e.Revision, p.seq, string(body), string(RevisionStaged))
}

func (p projector) pluginHeld(e PluginHeld) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := p.knowPlugin(e.Plugin, e.Location, PluginStateHeld); err != nil {
		return err
	}
	// What failed before is over, unless it is what serves that does not start, or did not.
	const over = `attempts = 0 AND state <> 'quarantined'`
	return p.setPlugin(e.Plugin, e.Location, `held = $1, state = CASE WHEN state IN ('failed', 'staged') THEN 'held' ELSE state END,
		error = CASE WHEN failed <> '' AND `+over+` THEN '' ELSE error END, failed = CASE WHEN `+over+` THEN '' ELSE failed END`, string(body))
}

func (p projector) pluginApproved(e PluginApproved) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := p.knowPlugin(e.Plugin, e.Location, PluginStateStaged); err != nil {
		return err
	}
	if err := p.exec(`INSERT INTO plugin_approval (plugin, location, digest, seq, body) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT DO UPDATE SET seq = excluded.seq, body = excluded.body`, e.Plugin, e.Location, e.Digest, p.seq, string(body)); err != nil {
		return err
	}
	return p.forgetApprovals(e.Plugin, e.Location)
}

// forgetApprovals forgets the oldest approvals of versions that no known revision is of.
func (p projector) forgetApprovals(plugin, location string) error {
	all, err := loadPlugins(p.ctx, p.tx, plugin)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(known Plugin) bool { return known.Location == location })
	left := keptApprovals
	for _, approved := range slices.Backward(all[at].Approvals) {
		if slices.ContainsFunc(all[at].Revisions, func(r PluginRevision) bool { return r.Digest == approved.Digest }) {
			continue
		}
		if left--; left >= 0 {
			continue
		}
		if err := p.exec(`DELETE FROM plugin_approval WHERE plugin = $1 AND location = $2 AND digest = $3`, plugin, location, approved.Digest); err != nil {
			return err
		}
	}
	return nil
}

func (p projector) pluginActivated(e PluginActivated) error {
	if e.Replaces != "" && e.Replaces != e.Revision {
		if err := p.setRevision(e.Plugin, e.Location, e.Replaces, `state = 'retiring'`); err != nil {
			return err
		}
	}
	if err := p.outdateHeld(e); err != nil {
		return err
	}
	return p.serve(e.Plugin, e.Location, e.Revision)
}

// outdateHeld forgets the version that waits when it is the one that serves from now on,
// or when another version has come since. The same one under other terms is none.
func (p projector) outdateHeld(e PluginActivated) error {
	all, err := loadPlugins(p.ctx, p.tx, e.Plugin)
	if err != nil {
		return err
	}
	for _, plugin := range all {
		next, current := plugin.At(e.Revision), plugin.Current()
		if plugin.Location != e.Location || plugin.Held == nil || next == nil || current != nil && current.Digest == next.Digest && plugin.Held.Digest != next.Digest {
			continue
		}
		if err := p.setPlugin(e.Plugin, e.Location, `held = ''`); err != nil {
			return err
		}
	}
	return nil
}

// serve makes a revision the one that serves. Its probation begins anew.
func (p projector) serve(plugin, location, revision string) error {
	if err := p.setRevision(plugin, location, revision,
		`state = 'active', blocked = 0, error = '', faults = '', activated_ms = $1, proved = 0`, p.at); err != nil {
		return err
	}
	return p.setPlugin(plugin, location, `state = 'active', revision = $1, failed = '', error = '', attempts = 0`, revision)
}

func (p projector) pluginFaulted(e PluginFaulted) error {
	revision, err := loadPluginRevision(p.ctx, p.tx, e.Plugin, e.Location, e.Revision)
	if err != nil {
		return err
	}
	faults, err := json.Marshal(append(revision.Faults, PluginFault{Session: e.Session, Fault: e.Fault, Message: e.Message, At: p.at}))
	if err != nil {
		return err
	}
	return p.setRevision(e.Plugin, e.Location, e.Revision, `faults = $1`, string(faults))
}

func (p projector) pluginRetired(e PluginRetired) error {
	if err := p.exec(`UPDATE plugin_revision SET state = 'retired' WHERE plugin = $1 AND location = $2 AND revision = $3 AND state = 'retiring'`,
		e.Plugin, e.Location, e.Revision); err != nil {
		return err
	}
	return p.forgetRevisions(e.Plugin, e.Location)
}

// forgetRevisions forgets the oldest of the revisions that have ended. The one that a
// disabled plugin would serve again is not one of them.
func (p projector) forgetRevisions(plugin, location string) error {
	const ended = ` FROM plugin_revision WHERE plugin = $1 AND location = $2 AND state NOT IN ('active', 'retiring', 'staged')
		AND revision NOT IN (SELECT revision FROM plugin WHERE plugin = $3 AND location = $4)`
	row := p.tx.QueryRow(p.ctx, `SELECT seq`+ended+` ORDER BY seq DESC LIMIT 1 OFFSET $5`, plugin, location, plugin, location, keptRevisions)
	var last int64
	if err := row.Scan(&last); errors.Is(err, store.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	return p.exec(`DELETE`+ended+` AND seq <= $5`, plugin, location, plugin, location, last)
}

func (p projector) pluginFailed(e PluginFailed) error {
	if err := p.knowPlugin(e.Plugin, e.Location, PluginStateFailed); err != nil {
		return err
	}
	if e.Revision != "" && e.Attempt == 0 {
		if err := p.setRevision(e.Plugin, e.Location, e.Revision,
			`error = $1, state = CASE WHEN state IN ('active', 'retiring') THEN state ELSE 'failed' END`, e.Message); err != nil {
			return err
		}
	}
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := p.setPlugin(e.Plugin, e.Location, `error = $1, failed = $2, attempts = CASE WHEN $3 > 0 THEN $4 ELSE attempts END,
		state = CASE WHEN state IN ('staged', 'held') THEN 'failed' ELSE state END`, e.Message, string(body), e.Attempt, e.Attempt); err != nil {
		return err
	}
	return p.forgetRevisions(e.Plugin, e.Location)
}

func (p projector) pluginRolledBack(e PluginRolledBack) error {
	if err := p.setRevision(e.Plugin, e.Location, e.From, `state = 'retiring', blocked = 1, error = $1`, e.Reason); err != nil {
		return err
	}
	if err := p.serve(e.Plugin, e.Location, e.Revision); err != nil {
		return err
	}
	return p.setPlugin(e.Plugin, e.Location, `error = $1`, e.Reason)
}

// pluginDisabled leaves open whether the plugin ever served.
func (p projector) pluginDisabled(e PluginDisabled) error {
	if err := p.exec(`UPDATE plugin_revision SET state = 'retiring' WHERE plugin = $1 AND location = $2 AND state = 'active'`, e.Plugin, e.Location); err != nil {
		return err
	}
	return p.setPlugin(e.Plugin, e.Location, `state = 'disabled', configured = $1, failed = '', error = '', attempts = 0`, e.Configured)
}

func (p projector) pluginQuarantined(e PluginQuarantined) error {
	if err := p.setRevision(e.Plugin, e.Location, e.Revision, `state = 'retiring', error = $1`, e.Reason); err != nil {
		return err
	}
	return p.setPlugin(e.Plugin, e.Location, `state = 'quarantined', error = $1`, e.Reason)
}

func (p projector) pluginRemoved(e PluginRemoved) error {
	for _, table := range [...]string{"plugin", "plugin_revision", "plugin_approval"} {
		if err := p.exec(`DELETE FROM `+table+` WHERE plugin = $1 AND location = $2`, e.Plugin, e.Location); err != nil {
			return err
		}
	}
	return nil
}

func (p projector) folderDistrusted(e FolderDistrusted) error {
	for _, table := range [...]string{"plugin", "plugin_revision", "plugin_approval"} {
		if err := p.exec(`DELETE FROM `+table+` WHERE location = $1`, e.Root); err != nil {
			return err
		}
	}
	return p.exec(`DELETE FROM trusted_folder WHERE root = $1`, e.Root)
}
