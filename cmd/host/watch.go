package main

import (
	"context"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/plugin"
)

// watchService is server.PluginWatches.
type watchService struct{ *backend }

func (b watchService) Watch(_ context.Context, named protocol.PluginParams, tell func(protocol.PluginNotice)) (func(), error) {
	return b.plugins.Watch(pluginService{backend: b.backend}.ref(named), func(notice plugin.Notice) {
		wire := protocol.PluginNotice{Revision: notice.Revision}
		switch {
		case notice.Line != nil:
			wire.Log = &protocol.PluginLine{Level: notice.Line.Level, Text: notice.Line.Text}
		case notice.Failed != nil:
			text, err := notice.Failed.Encode()
			if err != nil {
				wire.Log = &protocol.PluginLine{Level: "warn", Text: "a call failed, and its recording cannot be told: " + err.Error()}
				break
			}
			wire.Failed = &protocol.FailedCall{Recording: string(text)}
		}
		tell(wire)
	}), nil
}
