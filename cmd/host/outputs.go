package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/plinthhost/plinth/host/outputs"
	"github.com/plinthhost/plinth/session"
)

// outputsPath is the folder of the tool outputs that were too large for a transcript.
func outputsPath(data string) string { return filepath.Join(data, "tool-output") }

// startOutputs begins to remove old ones.
func (a *app) startOutputs(ctx context.Context) {
	a.outputs = outputs.New(outputs.Options{
		Folder: outputsPath(a.config.Data), Keep: time.Duration(a.config.ToolOutput.KeepDays) * 24 * time.Hour, Logger: a.logger.Named("outputs"),
	})
	a.outputs.Start(ctx)
	a.closers = append(a.closers, a.outputs.Close)
}

// outputRules let everybody who may read look at what was kept: the paths are told to
// models. They come before the operator's. A path that reads as a pattern gets none,
// because it would allow other folders too.
func outputRules(data string) []session.Rule {
	folder := outputsPath(data)
	if session.Savable(folder) == nil {
		return nil
	}
	return []session.Rule{{Action: "external_directory", Resource: folder + "/*", Effect: session.Allow}}
}
