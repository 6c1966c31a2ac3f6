package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/extism"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/secret"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// Options is what a manager works with.
type Options struct {
	Engine     EngineOptions
	Registries *registry.Registries
	Kinds      session.Kinds
	// Services are what host operations work with.
	Services *bridge.Services
	// Network is what plugins' requests go through; nil for a direct connection.
	Network *egress.Network
	// Scrubber takes secrets out of what comes back; nil for none but a request's own.
	Scrubber *secret.Scrubber
	// Secret resolves a reference of the operator's; nil when there are none.
	Secret func(ctx context.Context, reference string) (secret.Value, error)
	// Rejected is told a secret that a server did not take; nil for nobody.
	Rejected  func(reference string, value secret.Value)
	Providers map[string]Connection
	Settings  map[string]Settings
	// Recordings keep the calls that are recorded; nil when nothing is.
	Recordings replay.Sink
	Version    string // the host's, for recordings
	Logger     hclog.Logger
}

// Connection is a provider the operator configured, by its name.
type Connection struct {
	Plugin string // owner/name
	// Codec is the provider id in the plugin's manifest; its only one when empty.
	Codec string
	// Open makes the connection with the manifest's auth.
	Open func(auth egress.Auth) (*egress.Client, error)
}

// Settings is what the operator says of one plugin.
type Settings struct {
	Disabled bool
	Required bool // no session begins while its context sources are unavailable
	Config   map[string]any
	Limits   map[string]int64 // in place of the manifest's, by its names
	// Secrets are references by the handles of the manifest's secret requests.
	Secrets map[string]string
	// Files are absolute paths and patterns that it may read, and URLs addresses that it
	// may fetch, beside what its manifest asks for.
	Files []string
	URLs  []string
	// Record says which calls are recorded.
	Record Record
	// ExtismSDK: it runs by extism/go-sdk, unmetered.
	ExtismSDK bool
}

// Record says which calls of a plugin are recorded.
type Record string

// The choices; "" is RecordOff.
const (
	RecordOff     Record = "off"
	RecordFailing Record = "failing"
	RecordAll     Record = "all"
)

// State is where a plugin stands.
type State string

// The states.
const (
	Active   State = "active"
	Failed   State = "failed"
	Disabled State = "disabled"
)

// Status tells of one plugin.
type Status struct {
	ID       string
	Version  string
	Origin   string
	Revision string
	State    State
	Error    string
}

// Manager owns the engine and the plugins' scopes.
type Manager struct {
	options Options
	engine  *wasm.Engine

	mu          sync.Mutex
	status      []Status
	connections []io.Closer
}

// NewManager makes a manager without plugins.
func NewManager(options Options) (*Manager, error) {
	engine, err := NewEngine(options.Engine, options.Logger.Named("wasm"))
	if err != nil {
		return nil, err
	}
	return &Manager{options: options, engine: engine}, nil
}

// Add admits a plugin and opens its scope. What fails changes nothing, is kept in
// the status, and is answered.
func (m *Manager) Add(ctx context.Context, candidate Candidate) error {
	status := Status{ID: candidate.Manifest.ID, Version: candidate.Manifest.Version, Origin: candidate.Origin, State: Active}
	if m.options.Settings[status.ID].Disabled {
		status.State = Disabled
		m.record(status)
		return nil
	}
	revision, err := "", m.vacant(status.ID)
	if err == nil {
		revision, err = m.activate(ctx, candidate)
	}
	status.Revision = revision
	if err != nil {
		err = fmt.Errorf("plugin %s from %s: %w", candidate.Manifest.ID, candidate.Origin, err)
		status.State, status.Error = Failed, err.Error()
		m.standIn(candidate)
	}
	m.record(status)
	return err
}

// vacant refuses an id that an active plugin has: a scope of that id would take its
// place.
func (m *Manager) vacant(id string) error {
	for _, status := range m.Plugins() {
		if status.ID == id && status.State == Active {
			return fmt.Errorf("the plugin from %s has this id; remove one, or give it an id of its own", status.Origin)
		}
	}
	return nil
}

// Refused keeps a plugin that could not even be read in the status.
func (m *Manager) Refused(err error) {
	status := Status{State: Failed, Error: err.Error()}
	if manifest, ok := errors.AsType[*ManifestError](err); ok {
		status.Origin = manifest.File
	} else if source, ok := errors.AsType[*SourceError](err); ok {
		status.Origin = source.Origin
	}
	m.record(status)
}

func (m *Manager) record(status Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status = append(m.status, status)
}

// Plugins answers the status of all, in the order they were added.
func (m *Manager) Plugins() []Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.status)
}

// Missing names the configured providers whose plugin is not there, ascending.
func (m *Manager) Missing() []string {
	var missing []string
	active := map[string]bool{}
	for _, status := range m.Plugins() {
		active[status.ID] = active[status.ID] || status.State == Active
	}
	for _, name := range slices.Sorted(maps.Keys(m.options.Providers)) {
		if plugin := m.options.Providers[name].Plugin; !active[plugin] {
			missing = append(missing, fmt.Sprintf("provider %s needs the plugin %s, which is not active", name, plugin))
		}
	}
	return missing
}

func (m *Manager) activate(ctx context.Context, candidate Candidate) (revision string, err error) {
	manifest := candidate.Manifest
	config, err := checkConfig(manifest, m.options.Settings[manifest.ID].Config)
	if err != nil {
		return "", err
	}
	revision = revisionOf(candidate.Wasm, config)
	limits, err := operatorLimits(manifest.ID, m.options.Settings[manifest.ID].Limits)
	if err != nil {
		return revision, err
	}
	spec, err := specOf(candidate, config, limits)
	if err != nil {
		return revision, err
	}
	logger := m.options.Logger.Named(manifest.ID)
	module, err := m.load(ctx, spec, revision, logger)
	if err != nil {
		return revision, err
	}
	plugin := &bridge.Plugin{ID: manifest.ID, Revision: revision, Builtin: candidate.Builtin, Operations: int64(spec.Limits.Operations), LogBytes: int64(spec.Limits.LogBytes),
		Caller: bridge.NewCaller(module), Log: func(level, line string) { logger.Log(hclog.LevelFromString(level), line) }}
	contributions, connections, err := m.contributions(plugin, manifest)
	if err == nil {
		_, err = m.options.Registries.Replace(registry.Scope{ID: manifest.ID, Builtin: candidate.Builtin, Revision: revision, Contributions: contributions})
	}
	if err != nil {
		for _, connection := range connections {
			err = errors.Join(err, connection.Close())
		}
		return revision, errors.Join(err, module.Close())
	}
	m.mu.Lock()
	m.connections = append(m.connections, connections...)
	if _, ok := module.(*extism.Module); ok { // the engine closes its own
		m.connections = append(m.connections, module)
	}
	m.mu.Unlock()
	return revision, nil
}

// module is what an engine has loaded.
type module interface {
	bridge.Module
	io.Closer
}

// load has the module run as the operator wants it.
func (m *Manager) load(ctx context.Context, spec wasm.Spec, revision string, logger hclog.Logger) (module, error) {
	settings := m.options.Settings[spec.Name]
	if settings.ExtismSDK {
		if settings.Record != "" && settings.Record != RecordOff {
			return nil, fmt.Errorf("plugins.%q: calls by extism-sdk cannot be recorded; set record = \"off\"", spec.Name)
		}
		return extism.Load(ctx, extism.Options{Contract: bridge.Contract(), Refuse: bridge.Refuse, Logger: logger}, spec)
	}
	if settings.Record == "" || settings.Record == RecordOff {
		return m.engine.Load(ctx, spec)
	}
	spec.Start = replay.Start
	loaded, err := m.engine.Load(ctx, spec)
	if err != nil {
		return nil, err
	}
	return recordedModule{Recorder: m.recorder(loaded, revision, settings.Record, logger), Closer: loaded}, nil
}

// recordedModule is a module whose calls are recorded.
type recordedModule struct {
	*replay.Recorder
	io.Closer
}

func (m *Manager) recorder(loaded *wasm.Module, revision string, record Record, logger hclog.Logger) *replay.Recorder {
	options := replay.Options{Sink: m.options.Recordings, Host: m.options.Version, Revision: revision, CallID: bridge.CallID, Failed: bridge.Failed,
		Lost: func(err error) { logger.Warn("a recording is lost", "error", err) }}
	if record == RecordFailing {
		options.Sink = replay.Failing(options.Sink)
	}
	if m.options.Scrubber != nil {
		options.Scrubber = m.options.Scrubber
	}
	return replay.Record(loaded, options)
}

// revisionOf names a module with its settings.
func revisionOf(module, config []byte) string {
	hash := sha256.New()
	hash.Write(module)
	hash.Write([]byte{0})
	hash.Write(config)
	return hex.EncodeToString(hash.Sum(nil))[:16]
}

// Close closes all plugins and waits for their calls. Safe twice.
func (m *Manager) Close() error {
	for _, status := range m.Plugins() {
		m.options.Registries.Remove(status.ID, "") // also what stands in for one that failed
	}
	m.mu.Lock()
	connections := m.connections
	m.connections = nil
	m.mu.Unlock()
	err := m.engine.Close()
	for _, connection := range connections {
		err = errors.Join(err, connection.Close())
	}
	return err
}

// qualified is a transform's name in the registry.
func qualified(plugin, name string) string { return strings.Join([]string{plugin, name}, "/") }
