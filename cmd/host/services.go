package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/plinthhost/plinth/cmd/host/config"
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
			return replay.OpenFolder(filepath.Join(a.config.Data, recordingsFolder), 0)
		}
	}
	return nil, nil
}

// services are what host operations work with.
func (a *app) services() (*bridge.Services, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	processes, err := process.New(process.Options{Shell: a.config.Process.Shell, Inherit: a.config.Process.Inherit, Withhold: a.config.SecretVariables(),
		Sandbox: sandbox(a.config.Process, home)})
	if err != nil {
		return nil, fmt.Errorf("%s: [process]: %w", a.config.File, err)
	}
	a.processes = processes
	a.closers = append(a.closers, processes.Close)
	a.tellSandbox()
	return &bridge.Services{
		Config: filepath.Dir(a.config.File), Private: []string{a.config.Data}, Outputs: outputsPath(a.config.Data), Home: home, Kept: a.outputs, Writer: &fsys.Writer{}, Processes: processes,
		Store: a.values, Blobs: a.store.Blobs(), Clock: session.SystemClock{Zone: a.config.Zone()}, Rules: a.permissions, Scrubber: a.scrubber,
	}, nil
}

// sandbox is what plugins' commands run in.
func sandbox(configured config.Process, home string) process.Sandbox {
	return process.Sandbox{Mode: process.Mode(configured.Sandbox), NoNetwork: !configured.SandboxNetwork,
		Write: slices.Concat(process.Usual(home, os.Getenv), configured.SandboxWrite), Make: process.Wanted(home, os.Getenv)}
}

// tellSandbox says at the start what there is not of the sandbox.
func (a *app) tellSandbox() {
	found := a.processes.Confinement()
	logger := a.logger.Named("sandbox")
	switch {
	case found.Refuses:
		logger.Error("no command of a plugin runs: process.sandbox is on", "reason", found.Reason)
	case found.Reason != "" && a.config.Process.Sandbox != string(process.ModeOff):
		logger.Warn("commands of plugins run without all of the sandbox", "reason", found.Reason)
	}
}
