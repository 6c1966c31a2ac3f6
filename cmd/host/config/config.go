// Package config reads the operator's configuration: defaults, then config.toml,
// then the environment (PLINTH_…), then flags. It is strict: an unknown key or a
// bad value is an error that says where it stands and what is allowed, and all of
// them are told at once.
package config

import (
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/plinthhost/plinth/host/catalog"
	"github.com/plinthhost/plinth/host/expand"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/compaction"
)

// Config is the whole configuration. It is not changed after Load.
type Config struct {
	// Model is what new sessions use: model = "provider/model"; offline/rules.
	Model session.ModelRef
	// Agent is what new sessions run as; "build".
	Agent string
	// Agents are all there are, by name; those of session.DefaultAgents.
	Agents []session.Agent
	// Timezone is the user's, an IANA name; empty for this machine's.
	Timezone string
	// Listen is the TCP address of the API; "127.0.0.1:4747".
	Listen string
	// AllowedHosts are names, without port, that the Host header may have besides
	// this machine's own; none.
	AllowedHosts []string
	// AllowedOrigins are origins, "https://host:port", that browsers may connect
	// from besides the console's own; none.
	AllowedOrigins []string
	// Data is the absolute folder of the database and everything else that Plinth
	// keeps; $XDG_DATA_HOME/plinth.
	Data string
	// Providers by the name a model is chosen with; none. "offline" is always there.
	Providers map[string]Provider
	// Models is what the operator says of models, without variants in the keys; none.
	Models  map[session.ModelRef]catalog.Override
	Network Network
	// MCP are servers of the Model Context Protocol, by name; none.
	MCP map[string]MCP
	// Rules of permission, in order; the last that fits decides. None.
	Rules []Rule
	// Budgets in order; none.
	Budgets []session.Budget
	Runner  Runner
	// Compaction says when and how a history is condensed.
	Compaction compaction.Settings
	// ToolOutput bounds what a model reads of a tool's text.
	ToolOutput ToolOutput
	Snapshots  Snapshots
	Titles     Titles
	Engine     Engine
	Process    Process
	Plugins    Plugins
	// ProjectConfig: what a project's folder says of how to work in it counts, like its
	// instruction files; true.
	ProjectConfig bool
	Instructions  Instructions
	Skills        Skills
	Shell         Shell
	// References and Commands by name; none.
	References []expand.Reference
	Commands   []expand.Command
	// Retention is of the sessions without one of their own.
	Retention Retention
	// LogLevel is trace, debug, info, warn or error; "info".
	LogLevel string
	// File is the configuration file that was looked for, there or not.
	File string

	zone    *time.Location // of Timezone
	origins origins        // of what the file, variables and flags gave
}

// Zone is the user's time zone, nil for this machine's.
func (c Config) Zone() *time.Location { return c.zone }

// Rule is one permission rule. Action and Resource are patterns.
type Rule struct {
	Action   string `toml:"action"`
	Resource string `toml:"resource"`
	Effect   string `toml:"effect"` // allow, ask or deny
}

// Engine bounds what the guests of all plugins use together.
type Engine struct {
	MemoryMiB int // memory; 1024
	Tools     int // tool calls that run at a time; 0: a processor less than there are
	Quick     int // calls of the other kinds that run at a time; 0: half the processors
}

// Plugins says which plugins run.
type Plugins struct {
	// Folders are absolute folders whose plugins are loaded and watched; none.
	Folders []string
	// Files are absolute paths of plugins, packed or folders of their own, likewise; none.
	Files []string
	// Development grants what comes from folders and files all that it asks for; false.
	Development bool
	// Settings by the plugin's id "owner/name".
	Settings map[string]Plugin
}

// Plugin is one [plugins."owner/name"].
type Plugin struct {
	// Enabled is nil where the configuration does not say: true, but for builtins that
	// come switched off.
	Enabled *bool
	// Required: no session begins while its context sources are unavailable; false.
	Required bool
	// Order is where its context sources stand among those of others, lower first; 0.
	Order int
	// Config is the plugin's own configuration as a JSON object; nil when not given.
	Config json.RawMessage
	// Limits take the place of the manifest's, by its names.
	Limits map[string]int64
	// Secrets are references by the handles of the manifest's secret requests.
	Secrets map[string]string
	// Engine is what runs it: plinth, or extism-sdk for a module built with an Extism
	// PDK; plinth.
	Engine string
	// Record says which calls are kept as files: off, failing or all; off.
	Record string
}

// defaults is the configuration before anything was read.
func defaults(folders Folders) Config {
	return Config{
		Model:      session.ModelRef{Provider: "offline", Model: "rules"},
		Agent:      session.DefaultAgent,
		Agents:     session.DefaultAgents(),
		Listen:     "127.0.0.1:4747",
		Data:       folders.Data,
		Runner:     defaultRunner(),
		Engine:     Engine{MemoryMiB: 1024},
		Process:    defaultProcess(),
		Compaction: compaction.DefaultSettings(),
		ToolOutput: defaultToolOutput(),
		Shell:      Shell{Enabled: true, TimeoutMS: 600_000},
		Retention:  defaultRetention(),
		Snapshots:  defaultSnapshots(),
		Titles:     Titles{Enabled: true},
		LogLevel:   "info",

		ProjectConfig: true,
		Skills:        Skills{Folders: []string{filepath.Join(folders.Config, "skills")}},
	}
}
