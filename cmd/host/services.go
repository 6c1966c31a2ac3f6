package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/process"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/session"
)

// recordings is the folder of recorded calls, nil when no plugin's are.
func (a *app) recordings() (replay.Sink, error) {
	for _, settings := range a.config.Plugins.Settings {
		if settings.Record != "" && settings.Record != string(plugin.RecordOff) {
			return replay.OpenFolder(filepath.Join(a.config.Data, "recordings"), 0)
		}
	}
	return nil, nil
}

// services are what host operations work with.
func (a *app) services() (*bridge.Services, error) {
	processes, err := process.New(process.Options{Shell: a.config.Process.Shell, Inherit: a.config.Process.Inherit, Withhold: a.config.SecretVariables()})
	if err != nil {
		return nil, fmt.Errorf("%s: [process]: %w", a.config.File, err)
	}
	a.processes = processes
	a.closers = append(a.closers, processes.Close)
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return &bridge.Services{
		Config: filepath.Dir(a.config.File), Private: []string{a.config.Data}, Outputs: outputsPath(a.config.Data), Home: home, Writer: &fsys.Writer{}, Processes: processes,
		Store: a.values, Blobs: a.store.Blobs(), Clock: session.SystemClock{Zone: a.config.Zone()}, Rules: a.permissions, Scrubber: a.scrubber,
	}, nil
}
