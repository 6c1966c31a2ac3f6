package main

import (
	"maps"
	"slices"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/trust"
	"github.com/plinthhost/plinth/session"
)

// wirePlugin is a plugin in the protocol's words.
func wirePlugin(status plugin.Status) protocol.Plugin {
	wire := protocol.Plugin{ID: status.ID, Location: status.Location, Revision: status.Revision, State: protocol.PluginState(status.State),
		Serving: status.Serving, Error: status.Error, Attempts: status.Attempts, Configured: status.Configured, Retiring: status.Retiring}
	of := status.Current()
	switch {
	case of == nil && status.Held != nil:
		wire.Version, wire.Digest, wire.Source, wire.Origin = status.Held.Version, status.Held.Digest, status.Held.Source, status.Held.Origin
	case of == nil && len(status.Revisions) > 0:
		of = &status.Revisions[len(status.Revisions)-1]
	}
	if of != nil {
		wire.Version, wire.Digest, wire.Source, wire.Origin = of.Version, of.Digest, of.Source, of.Origin
	}
	granted := status.Terms.Grants
	if !status.Serving {
		granted = approved(status.Plugin, wire.Digest)
	}
	wire.Requests = wireRequests(status.Requests, granted)
	if status.Held != nil {
		wire.Held = wireHeld(status)
	}
	wireManifest(&wire, status)
	wireRunning(&wire, status)
	for _, revision := range status.Revisions {
		wire.Revisions = append(wire.Revisions, wireRevision(revision))
	}
	for _, approval := range status.Approvals {
		wire.Approvals = append(wire.Approvals, protocol.PluginApproval{Digest: approval.Digest, Grants: append([]string{}, approval.Grants...)})
	}
	return wire
}

// approved are the keys that a version was granted; none when it was not approved.
func approved(known session.Plugin, digest string) []string {
	for _, approval := range slices.Backward(known.Approvals) {
		if approval.Digest == digest {
			return approval.Grants
		}
	}
	return nil
}

func wireRequests(requests []trust.Request, granted []string) []protocol.PluginRequest {
	var all []protocol.PluginRequest
	for _, request := range requests {
		all = append(all, protocol.PluginRequest{Key: request.Key, Text: request.Text, Reason: request.Reason, Granted: slices.Contains(granted, request.Key)})
	}
	return all
}

// wireHeld is the version that waits. Of what it asks for, the version that serves has
// some already.
func wireHeld(status plugin.Status) *protocol.HeldVersion {
	held := status.Held
	wire := &protocol.HeldVersion{Digest: held.Digest, Version: held.Version, Source: held.Source, Origin: held.Origin, Reason: held.Reason}
	var granted []string
	if status.Serving {
		granted = status.Terms.Grants
	}
	wire.Requests = wireRequests(status.Asked, granted)
	if change := status.Change; change != nil {
		wire.Change = wireChange(*change)
		for i, request := range wire.Requests { // of the same key, but allowing more
			wire.Requests[i].Granted = request.Granted && !slices.ContainsFunc(change.Entries, func(entry trust.Entry) bool {
				return entry.Wider && entry.Name == request.Key
			})
		}
	}
	return wire
}

func wireChange(change trust.Change) *protocol.PluginChange {
	wire := &protocol.PluginChange{From: change.From, To: change.To, Omitted: change.Omitted,
		Lines: append([]string{}, change.Lines()...), Entries: make([]protocol.PluginChangeEntry, len(change.Entries))}
	for i, entry := range change.Entries {
		wire.Entries[i] = protocol.PluginChangeEntry{Part: string(entry.Part), Name: entry.Name, Change: entry.Change, Wider: entry.Wider, Text: entry.Text}
		for _, field := range entry.Fields {
			wire.Entries[i].Fields = append(wire.Entries[i].Fields, protocol.PluginChangeField(field))
		}
	}
	return wire
}

// wireManifest adds what the manifest says.
func wireManifest(wire *protocol.Plugin, status plugin.Status) {
	manifest := status.Manifest
	if manifest == nil {
		return
	}
	offers := &protocol.PluginContributions{}
	for _, tool := range manifest.Tools {
		offers.Tools = append(offers.Tools, tool.Name)
	}
	for _, source := range manifest.Contexts {
		offers.Contexts = append(offers.Contexts, source.Key)
	}
	for _, provider := range manifest.Providers {
		offers.Providers = append(offers.Providers, provider.ID)
	}
	for _, transform := range manifest.Transforms {
		offers.Transforms = append(offers.Transforms, transform.Name)
	}
	wire.Contributions, wire.Isolation = offers, manifest.Isolation.Mode
	wire.Limits = plugin.LimitsSet(*manifest)
	maps.Copy(wire.Limits, status.Terms.Limits)
}

// wireRunning adds what is known of the revision that serves.
func wireRunning(wire *protocol.Plugin, status plugin.Status) {
	if !status.Serving {
		return
	}
	wire.Figures = &protocol.PluginFigures{Calls: status.Figures.Calls, Faults: status.Figures.Faults, Last: status.Figures.Last}
	for name, count := range status.Operations {
		if wire.Operations == nil {
			wire.Operations = map[string]protocol.OperationFigure{}
		}
		wire.Operations[name] = protocol.OperationFigure(count)
	}
	if status.Report == nil || status.Stats == nil {
		return
	}
	report, stats := status.Report, status.Stats
	milliseconds := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	wire.Isolation = string(report.Isolation)
	wire.Engine = &protocol.PluginEngine{MemoryMiB: int64(report.Limits.MemoryMiB), ImageBytes: report.ImageBytes, Started: stats.Started,
		Discarded: stats.Discarded, Idle: stats.Idle, Leased: stats.Leased, Parked: stats.Parked,
		CompileMS: milliseconds(report.Compile), StartMS: milliseconds(report.Start), Why: report.Why}
}

func wireRevision(revision session.PluginRevision) protocol.PluginRevision {
	wire := protocol.PluginRevision{Revision: revision.Revision, Digest: revision.Digest, Version: revision.Version, Source: revision.Source,
		Origin: revision.Origin, State: string(revision.State), Blocked: revision.Blocked, Proved: revision.Proved, Faults: len(revision.Faults), Error: revision.Error}
	if terms, err := plugin.TermsOf(revision.Terms); err == nil { // the log has written them
		wire.Grants = terms.Grants
	}
	if revision.Activated > 0 {
		at := instant(revision.Activated)
		wire.Activated = &at
	}
	return wire
}
