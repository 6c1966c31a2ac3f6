package dev

import (
	"context"
	"errors"
	"fmt"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/author/build"
	"github.com/plinthhost/plinth/host/author/golden"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/trust"
)

// turn is what follows a save: the build and the calls that are made here end with current,
// when something is saved again. What the host is asked ends with ctx alone, so that it is
// known what serves.
func (l *loop) turn(ctx, current context.Context, began time.Time) {
	manifest, err := plugin.ManifestOf(l.options.Folder)
	if err != nil {
		l.refuse(ctx, err)
		return
	}
	built, err := build.Run(current, l.options.Folder, manifest, l.options.Output)
	if errors.Is(err, errSaved) {
		return // the next one begins at once
	}
	if err != nil {
		l.refuse(ctx, err)
		return
	}
	l.tell(Event{Kind: KindBuilt, Built: describe(built)})
	l.change(built.Candidate.Manifest)
	served := l.options.Host == nil || l.serve(ctx, built)
	l.try(current, built)
	if current.Err() == nil {
		event := Event{Kind: KindDone, TookNS: int64(time.Since(began)), BuildNS: int64(built.Took)}
		if !served {
			event.Text = "the version before, if any, serves on"
		}
		l.tell(event)
	}
}

// refuse tells why there is no new version.
func (l *loop) refuse(ctx context.Context, err error) {
	if ctx.Err() == nil {
		l.tell(Event{Kind: KindRefused, Text: err.Error()})
	}
}

// describe is what a build left.
func describe(built build.Result) *Built {
	report := built.Report
	described := &Built{ID: report.ID, Version: report.Version, Digest: report.Digest, Bytes: report.Bytes, TookNS: int64(built.Took), Offers: []string{}, Requests: []string{}}
	for _, tool := range report.Tools {
		described.Offers = append(described.Offers, "tool "+tool.Name)
	}
	for _, key := range report.Contexts {
		described.Offers = append(described.Offers, "context "+key)
	}
	for _, id := range report.Providers {
		described.Offers = append(described.Offers, "provider "+id)
	}
	for _, transform := range report.Transforms {
		described.Offers = append(described.Offers, "transform "+transform.Name)
	}
	for _, request := range report.Requests {
		described.Requests = append(described.Requests, request.Key)
	}
	return described
}

// change tells what the manifest says otherwise than that of the build before.
func (l *loop) change(manifest abi.Manifest) {
	l.mu.Lock()
	previous := l.previous
	l.previous = &manifest
	l.mu.Unlock()
	if previous == nil {
		return
	}
	if lines := trust.Difference(*previous, manifest).Lines(); len(lines) > 0 {
		l.tell(Event{Kind: KindChanged, Lines: lines})
	}
}

// serve has the host serve the new version, and reports whether it does as far as a host
// could say so.
func (l *loop) serve(ctx context.Context, built build.Result) bool {
	if len(built.Missing) > 0 {
		l.tell(Event{Kind: KindServing, Served: &Served{Reason: fmt.Sprintf("the golden %s is still to be recorded: plinth plugin test --update", built.Missing[0])}})
		return false
	}
	l.watch(ctx, built.Candidate.Manifest.ID)
	served, err := l.options.Host.Serve(ctx, built.Candidate)
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		l.tell(Event{Kind: KindServing, Served: &Served{Reason: err.Error()}})
		return true
	}
	l.tell(Event{Kind: KindServing, Served: &served})
	return served.Active
}

// try runs the goldens, and the call that failed last, until ctx ends.
func (l *loop) try(ctx context.Context, built build.Result) {
	results, err := golden.Run(ctx, l.options.Engine, built)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		l.tell(Event{Kind: KindRefused, Text: err.Error()})
		return
	}
	l.tell(Event{Kind: KindGoldens, Goldens: results})
	call := l.lastFailing()
	if call == nil {
		return
	}
	again, err := rerun(ctx, l.options.Engine, built.Candidate, call)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		l.tell(Event{Kind: KindNote, Text: "the call that failed last cannot be made again: " + err.Error()})
	default:
		l.tell(Event{Kind: KindRerun, Rerun: &again})
	}
}
