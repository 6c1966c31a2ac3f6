package plugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/depot"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/probation"
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
	// Ledger is the plugins' part of the log.
	Ledger *session.Plugins
	// Depot keeps the packed plugins.
	Depot *depot.Depot
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
	// Development: what comes from configured folders is granted all it asks for.
	Development bool
	Probation   probation.Limits
	Backoff     probation.Backoff
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
	// Record says which calls of a plugin are recorded.
	Record Record
	// ExtismSDK: it runs by extism/go-sdk, unmetered.
	ExtismSDK bool
	// Order is where its context sources stand among others; lower comes first.
	Order int
}

// must reports whether no session may begin without the plugin.
func (s Settings) must() bool { return s.Required && !s.Disabled }

// Record says which calls of a plugin are recorded.
type Record string

// The choices; "" is RecordOff.
const (
	RecordOff     Record = "off"
	RecordFailing Record = "failing"
	RecordAll     Record = "all"
)

// Sources of plugins, as the log names them.
const (
	SourceBuiltin = "builtin"
	SourceFolder  = "folder"  // a configured one
	SourceProject = "project" // a trusted project's .plinth/plugins
	SourceUpload  = "upload"
	SourceURL     = "url"
)

// Manager owns the engine and the plugins' scopes. It is safe for use by several
// goroutines.
type Manager struct {
	options  Options
	engine   *wasm.Engine
	life     context.Context // until Close
	end      context.CancelFunc
	work     sync.WaitGroup
	ready    chan struct{} // closed when what was found at the start has been tried
	watchers watchers
	// rehearsal has a token while one runs.
	rehearsal chan struct{}

	// commit orders the changes of the registries with what the log says of them.
	commit sync.Mutex
	// stoodFor are the required plugins that were stood for as they were not there; the
	// commit guards them.
	stoodFor map[string]bool
	// keeping is held for reading from a Put into the depot until the log names the
	// digest, and for writing by what removes digests that it does not name.
	keeping sync.RWMutex

	mu        sync.Mutex
	slots     map[place]*slot
	settings  map[string]Settings
	providers map[string]Connection
	refused   map[string]Refusal // by origin
	builtins  map[string]Candidate
	natives   []Candidate // in the order they were given
	awaited   []string    // ids of those to come
	trusted   map[string]bool
	watching  *watching
	closed    bool
}

// place names a slot.
type place struct{ id, location string }

// Refusal is a plugin that could not even be read.
type Refusal struct {
	Origin string
	Error  string
}

// NewManager makes a manager without plugins.
func NewManager(options Options) (*Manager, error) {
	engine, err := NewEngine(options.Engine, options.Logger.Named("wasm"))
	if err != nil {
		return nil, err
	}
	m := &Manager{options: options, engine: engine, ready: make(chan struct{}), rehearsal: make(chan struct{}, 1), stoodFor: map[string]bool{}, slots: map[place]*slot{}, refused: map[string]Refusal{},
		builtins: map[string]Candidate{}, watching: &watching{folders: map[string]watched{}}, trusted: map[string]bool{}, settings: options.Settings, providers: options.Providers}
	m.life, m.end = context.WithCancel(context.Background())
	return m, nil
}

// configured are the operator's settings of a plugin, and the providers that want it.
func (m *Manager) configured(id string) (Settings, map[string]Connection) {
	m.mu.Lock()
	defer m.mu.Unlock()
	providers := map[string]Connection{}
	for name, connection := range m.providers {
		if connection.Plugin == id {
			providers[name] = connection
		}
	}
	return m.settings[id], providers
}

// slot is the plugin's in the scope, made when it is new.
func (m *Manager) slot(id, location string) *slot {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := place{id, location}
	if m.slots[at] == nil {
		m.slots[at] = newSlot(id, location)
	}
	return m.slots[at]
}

// all are the slots by id and Location.
func (m *Manager) all() []*slot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.slots), func(a, b *slot) int {
		return strings.Compare(a.id+"\x00"+a.location, b.id+"\x00"+b.location)
	})
}

// begin counts work in, so that Close waits for it. ErrClosed after that.
func (m *Manager) begin() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return wasm.ErrClosed
	}
	m.work.Add(1)
	return nil
}

// Ready waits until the plugins that were found at the start have been tried, until ctx
// ends, or for the time at most.
func (m *Manager) Ready(ctx context.Context, most time.Duration) {
	select {
	case <-m.ready:
		return
	default:
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-m.ready:
	case <-timer.C:
	case <-ctx.Done():
	case <-m.life.Done():
	}
}

// Refused keeps a plugin that could not even be read, until its origin changes.
func (m *Manager) Refused(err error) {
	refusal := Refusal{Error: err.Error()}
	if manifest, ok := errors.AsType[*ManifestError](err); ok {
		refusal.Origin = manifest.File
	} else if source, ok := errors.AsType[*SourceError](err); ok {
		refusal.Origin = source.Origin
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused[refusal.Origin] = refusal
}

// forgive forgets what was refused from an origin.
func (m *Manager) forgive(origin string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.refused, func(key string, _ Refusal) bool { return key == origin || strings.HasPrefix(key, origin+"/") })
}

// Close closes all plugins and waits for their calls. Safe twice.
func (m *Manager) Close() error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.end()
	err := m.watching.close()
	m.work.Wait() // what is under way ends with life; none begins
	for _, s := range m.all() {
		m.options.Registries.Remove(s.id, s.location) // also what stands in for one that failed
		if serving := s.serve(nil); serving != nil {
			err = errors.Join(err, serving.close())
		}
	}
	return errors.Join(err, m.engine.Close())
}

// isGone reports that the log knows no such plugin any more.
func isGone(err error) bool { return errors.Is(err, session.ErrNotFound) }

// qualified is a transform's name in the registry.
func qualified(plugin, name string) string { return strings.Join([]string{plugin, name}, "/") }

func named(candidate Candidate, err error) error {
	return fmt.Errorf("plugin %s from %s: %w", candidate.Manifest.ID, candidate.Origin, err)
}
