package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plinthhost/plinth/store"
)

// BuriedFor is how long the values of a removed plugin are kept.
const BuriedFor = 30 * 24 * time.Hour

const (
	// buriedPlugins is the namespace of the tombstones, by plugin id.
	buriedPlugins = "plugin-tombstones"
	// pluginPrefix begins the namespace of values: the plugin's id follows, and a colon
	// and the session for those of a session. An id has one slash and no colon, so no two
	// plugins share one.
	pluginPrefix = "plugin:"
	// clearKeys is how many values are removed in one step, between the writes of others.
	clearKeys = 256
)

// tombstone says that a plugin was removed.
type tombstone struct {
	At time.Time `json:"at"`
	// Purge: what the plugin stored is being removed, and is not given back any more.
	Purge bool `json:"purge,omitempty"`
}

// Bury marks a removed plugin's values, which stay for BuriedFor from now, the first
// time it is said. Until then Unbury gives them back.
func (s *PluginStore) Bury(ctx context.Context, plugin string, now time.Time) error {
	s.burying.Lock()
	defer s.burying.Unlock()
	_, err := s.tombstone(ctx, plugin)
	if errors.Is(err, store.ErrNotFound) {
		err = s.mark(ctx, plugin, tombstone{At: now})
	}
	if err != nil {
		return fmt.Errorf("bury the values of %s: %w", plugin, err)
	}
	return nil
}

// Unbury gives a plugin that is added again what it stored. What was begun to be removed
// is removed first. Call it before the plugin runs; that it was never buried is no error.
func (s *PluginStore) Unbury(ctx context.Context, plugin string) error {
	s.burying.Lock()
	defer s.burying.Unlock()
	grave, err := s.tombstone(ctx, plugin)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err == nil && grave.Purge:
		err = s.empty(ctx, plugin)
	case err == nil:
		err = s.kv.Delete(ctx, buriedPlugins, plugin)
	}
	if err != nil {
		return fmt.Errorf("unbury the values of %s: %w", plugin, err)
	}
	return nil
}

// Purge removes all that a plugin stored, its own values and those in sessions. Call it
// when its last call has ended. What an error or a crash leaves of it is not given back,
// and the next Sweep removes it.
func (s *PluginStore) Purge(ctx context.Context, plugin string, now time.Time) error {
	s.burying.Lock()
	defer s.burying.Unlock()
	if err := s.mark(ctx, plugin, tombstone{At: now, Purge: true}); err != nil {
		return fmt.Errorf("purge the values of %s: %w", plugin, err)
	}
	if err := s.empty(ctx, plugin); err != nil {
		return fmt.Errorf("purge the values of %s: %w", plugin, err)
	}
	return nil
}

// Sweep removes what the plugins stored whose time is over, and what a purge left. It
// answers their ids. Errors of one do not keep it from the next.
func (s *PluginStore) Sweep(ctx context.Context, now time.Time) (swept []string, err error) {
	for after := ""; ; {
		page, listing := s.kv.List(ctx, buriedPlugins, "", after, MaxKVPage)
		if listing != nil {
			return swept, errors.Join(err, fmt.Errorf("sweep the values of plugins: %w", listing))
		}
		for _, plugin := range page {
			after = plugin
			gone, failed := s.sweep(ctx, plugin, now)
			if failed != nil {
				err = errors.Join(err, fmt.Errorf("sweep the values of %s: %w", plugin, failed))
			} else if gone {
				swept = append(swept, plugin)
			}
		}
		if len(page) < MaxKVPage {
			return swept, err
		}
	}
}

func (s *PluginStore) sweep(ctx context.Context, plugin string, now time.Time) (gone bool, err error) {
	s.burying.Lock()
	defer s.burying.Unlock()
	grave, err := s.tombstone(ctx, plugin)
	switch {
	case errors.Is(err, store.ErrNotFound): // it was added again
		return false, nil
	case err != nil:
		return false, err
	case !grave.Purge && now.Before(grave.At.Add(BuriedFor)):
		return false, nil
	}
	grave.Purge = true
	if err := s.mark(ctx, plugin, grave); err != nil {
		return false, err
	}
	return true, s.empty(ctx, plugin)
}

// Forget removes what all plugins stored in a session. Call it when the session was
// removed.
func (s *PluginStore) Forget(ctx context.Context, session string) error {
	// From plugin to plugin: their other sessions are passed over.
	for after := ""; ; {
		found, err := s.kv.Namespaces(ctx, pluginPrefix, after, 1)
		if err != nil {
			return fmt.Errorf("forget the values of %s: %w", session, err)
		}
		if len(found) == 0 {
			return nil
		}
		own, _, inSession := parseNamespace(found[0])
		after = found[0]
		if !inSession {
			continue // its sessions come after it, with other plugins between
		}
		if err := s.forget(ctx, own+":"+session); err != nil {
			return fmt.Errorf("forget the values of %s: %w", session, err)
		}
		after = own + ":\xff"
	}
}

// forget clears a namespace that may hold nothing.
func (s *PluginStore) forget(ctx context.Context, namespace string) error {
	keys, err := s.kv.List(ctx, namespace, "", "", 1)
	if err != nil || len(keys) == 0 {
		return err
	}
	return s.clear(ctx, namespace)
}

// SweepSessions removes the values of sessions that are gone, which a crash between a
// session's removal and Forget leaves. It answers from how many stores of a plugin in a
// session.
func (s *PluginStore) SweepSessions(ctx context.Context, gone func(ctx context.Context, session string) (bool, error)) (swept int, err error) {
	for after := ""; ; {
		page, err := s.kv.Namespaces(ctx, pluginPrefix, after, MaxKVPage)
		if err != nil {
			return swept, fmt.Errorf("sweep the values of sessions: %w", err)
		}
		for _, namespace := range page {
			after = namespace
			_, session, inSession := parseNamespace(namespace)
			if !inSession {
				continue
			}
			is, err := gone(ctx, session)
			if is && err == nil {
				err = s.clear(ctx, namespace)
			}
			if err != nil {
				return swept, fmt.Errorf("sweep the values of %s: %w", session, err)
			}
			if is {
				swept++
			}
		}
		if len(page) < MaxKVPage {
			return swept, nil
		}
	}
}

// parseNamespace reads a namespace of values: the plugin's own, and the session when it
// is one of a session.
func parseNamespace(namespace string) (own, session string, inSession bool) {
	id, session, inSession := strings.Cut(strings.TrimPrefix(namespace, pluginPrefix), ":")
	return pluginPrefix + id, session, inSession
}

// empty removes all that a plugin stored, then its tombstone.
func (s *PluginStore) empty(ctx context.Context, plugin string) error {
	if err := s.clear(ctx, pluginPrefix+plugin); err != nil {
		return err
	}
	for {
		page, err := s.kv.Namespaces(ctx, pluginPrefix+plugin+":", "", MaxKVPage)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return s.kv.Delete(ctx, buriedPlugins, plugin)
		}
		for _, namespace := range page {
			if err := s.clear(ctx, namespace); err != nil {
				return err
			}
		}
	}
}

// clear removes what is stored under a namespace. Writes to it wait.
func (s *PluginStore) clear(ctx context.Context, namespace string) error {
	at, release := s.hold(namespace)
	defer release()
	at.sizes = nil
	for {
		if removed, err := s.kv.Clear(ctx, namespace, clearKeys); err != nil || removed < clearKeys {
			return err
		}
	}
}

func (s *PluginStore) tombstone(ctx context.Context, plugin string) (grave tombstone, err error) {
	text, err := s.kv.Get(ctx, buriedPlugins, plugin)
	if err == nil {
		err = json.Unmarshal(text, &grave)
	}
	return grave, err
}

func (s *PluginStore) mark(ctx context.Context, plugin string, grave tombstone) error {
	text, err := json.Marshal(grave)
	if err != nil {
		return err
	}
	return s.kv.Set(ctx, buriedPlugins, plugin, text)
}
