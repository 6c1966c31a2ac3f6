package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/go-hclog"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/extism"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/registry"
)

// errSuperseded ends the calls of a revision that turns still use when too many newer
// ones have come, or when somebody does not want to wait.
var errSuperseded = errors.New("the revision of the plugin was ended; a newer one serves, or none")

// serving is a revision that can be called.
type serving struct {
	candidate Candidate
	revision  string
	terms     Terms
	scope     registry.Scope
	plugin    *bridge.Plugin // nil for native contributions
	module    module
	// connections are closed with it.
	connections []io.Closer
	refused     map[string]error // why providers that want it cannot be used
	trial       *trial           // nil where nothing watches it

	life context.Context // of its calls
	end  context.CancelCauseFunc
}

// module is what an engine has loaded.
type module interface {
	bridge.Module
	io.Closer
}

// stage is what a version failed at.
type stage string

// The stages.
const (
	stageRead       stage = "read"
	stageSettings   stage = "settings"
	stageLoad       stage = "load"
	stageGolden     stage = "golden"
	stageContribute stage = "contribute"
	stageStart      stage = "start"
)

// stageError is a failure with its stage.
type stageError struct {
	stage stage
	err   error
}

func (e *stageError) Error() string { return e.err.Error() }
func (e *stageError) Unwrap() error { return e.err }

func failedAt(stage stage, err error) error {
	if err == nil {
		return nil
	}
	return &stageError{stage, err}
}

// build makes a revision that can be called. A lazy one is compiled and started by its
// first call; any other has started once.
func (m *Manager) build(ctx context.Context, s *slot, candidate Candidate, revision string, terms Terms, lazy bool) (*serving, error) {
	return m.buildFor(ctx, s, place{s.id, s.location}, candidate, revision, terms, lazy)
}

// buildFor is build for who watches the plugin in a place; nobody watches in none.
func (m *Manager) buildFor(ctx context.Context, s *slot, at place, candidate Candidate, revision string, terms Terms, lazy bool) (*serving, error) {
	if candidate.native != nil {
		return serveNative(s, candidate, revision, terms), nil
	}
	manifest := candidate.Manifest
	limits, err := operatorLimits(manifest.ID, terms.Limits)
	if err != nil {
		return nil, failedAt(stageSettings, err)
	}
	spec, err := specOf(candidate, terms.Config, limits)
	if err != nil {
		return nil, failedAt(stageSettings, err)
	}
	spec.Lazy = lazy && !refusing(manifest, terms)
	logger := m.options.Logger.Named(manifest.ID)
	made := &serving{candidate: candidate, revision: revision, terms: terms}
	if made.module, err = m.load(ctx, spec, at, revision, terms, logger); err != nil {
		return nil, failedAt(stageLoad, err)
	}
	made.life, made.end = context.WithCancelCause(context.Background())
	made.plugin = &bridge.Plugin{ID: manifest.ID, Revision: revision, Builtin: candidate.Builtin,
		Operations: int64(spec.Limits.Operations), LogBytes: int64(spec.Limits.LogBytes),
		Caller: mortal{bridge.NewCaller(made.module), made.life},
		Log: func(level, line string) {
			logger.Log(hclog.LevelFromString(level), line)
			m.logged(at, revision, level, line)
		}}
	made.scope = registry.Scope{ID: s.id, Location: s.location, Builtin: candidate.Builtin, Revision: revision}
	if err := m.contribute(made); err != nil {
		return nil, errors.Join(failedAt(stageContribute, err), made.close())
	}
	return made, nil
}

// refusing reports whether the guest itself may refuse its settings: a transform's are
// tried before it serves, because afterwards each request would fail.
func refusing(manifest abi.Manifest, terms Terms) bool {
	return len(manifest.Transforms) > 0 && len(terms.Config) > 0
}

// serves reports whether a configured provider is this revision's.
func (s *serving) serves(provider string) bool {
	_, wanted := s.terms.Providers[provider]
	return wanted && s.refused[provider] == nil
}

// close ends what calls the revision has, and returns what it took.
func (s *serving) close() error {
	s.end(errSuperseded)
	var err error
	if s.module != nil {
		err = s.module.Close()
	}
	for _, connection := range s.connections {
		err = errors.Join(err, connection.Close())
	}
	return err
}

// mortal makes calls that end with the revision.
type mortal struct {
	bridge.Caller
	life context.Context
}

// Call runs one entry. A call that the end of the revision ends, or that comes after it,
// says so.
func (m mortal) Call(ctx context.Context, call bridge.Call) ([]byte, error) {
	living, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(m.life, func() { cancel(context.Cause(m.life)) })()
	answer, err := m.Caller.Call(living, call)
	if err != nil && m.life.Err() != nil && ctx.Err() == nil {
		return nil, &abi.Error{Kind: abi.KindUnavailable, Message: context.Cause(m.life).Error()}
	}
	return answer, err
}

// load has the module run as the operator wants it.
func (m *Manager) load(ctx context.Context, spec wasm.Spec, at place, revision string, terms Terms, logger hclog.Logger) (module, error) {
	if terms.ExtismSDK {
		if terms.Record != "" {
			return nil, fmt.Errorf("plugins.%q: calls by extism-sdk cannot be recorded; set record = \"off\"", spec.Name)
		}
		return extism.Load(ctx, extism.Options{Contract: bridge.Contract(), Refuse: bridge.Refuse, Logger: logger}, spec)
	}
	if terms.Record != "" && m.options.Recordings == nil {
		return nil, fmt.Errorf("plugins.%q: the host was started without recordings; start it again to have record = %q", spec.Name, terms.Record)
	}
	if spec.Builtin && terms.Record == "" {
		return m.engine.Load(ctx, spec)
	}
	spec.Start = replay.Start
	loaded, err := m.engine.Load(ctx, spec)
	if err != nil {
		return nil, err
	}
	return recordedModule{Module: loaded, recorder: m.recorder(loaded, at, revision, terms.Record, logger)}, nil
}

// recordedModule is a module whose calls are recorded while somebody wants it.
type recordedModule struct {
	*wasm.Module
	recorder *replay.Recorder
}

// Call runs an entry.
func (r recordedModule) Call(ctx context.Context, request wasm.Request) (wasm.Result, error) {
	return r.recorder.Call(ctx, request)
}

func (m *Manager) recorder(loaded *wasm.Module, at place, revision string, record Record, logger hclog.Logger) *replay.Recorder {
	sink := watchedCalls{manager: m, at: at, revision: revision}
	switch record {
	case RecordFailing:
		sink.kept = replay.Failing(m.options.Recordings)
	case RecordAll:
		sink.kept = m.options.Recordings
	}
	options := replay.Options{Sink: sink, Host: m.options.Version, Revision: revision, When: sink.wanted, CallID: bridge.CallID, Failed: bridge.Failed,
		Lost: func(err error) { logger.Warn("a recording is lost", "error", err) }}
	if m.options.Scrubber != nil {
		options.Scrubber = m.options.Scrubber
	}
	return replay.Record(loaded, options)
}

// TermsOf reads the terms that the log keeps.
func TermsOf(kept json.RawMessage) (Terms, error) {
	var terms Terms
	if err := json.Unmarshal(kept, &terms); err != nil {
		return Terms{}, fmt.Errorf("read the terms of a revision: %w", err)
	}
	return terms, nil
}
