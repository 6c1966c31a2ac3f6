package servertest

import (
	"context"

	"github.com/plinthhost/plinth/client/protocol"
)

// Watched answers the plugins that somebody watches, in their order.
func (m *Memory) Watched() []protocol.PluginParams {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []protocol.PluginParams
	for _, one := range m.watches {
		all = append(all, one.plugin)
	}
	return all
}

// Notice tells everybody who watches the plugin.
func (m *Memory) Notice(plugin protocol.PluginParams, notice protocol.PluginNotice) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.watches {
		if one.plugin == plugin {
			one.tell(notice)
		}
	}
}

type pluginWatch struct {
	plugin protocol.PluginParams
	tell   func(protocol.PluginNotice)
}

// pluginWatches is server.PluginWatches.
type pluginWatches struct{ *Memory }

func (m pluginWatches) Watch(_ context.Context, plugin protocol.PluginParams, tell func(protocol.PluginNotice)) (func(), error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failure != nil {
		return nil, m.failure
	}
	one := &pluginWatch{plugin, tell}
	m.watches = append(m.watches, one)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for i := range m.watches {
			if m.watches[i] == one {
				m.watches = append(m.watches[:i:i], m.watches[i+1:]...)
				return
			}
		}
	}, nil
}
