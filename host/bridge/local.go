package bridge

import "github.com/plinthhost/plinth/session"

// Local answers the operations of one call that no session makes: files of the location as
// far as reach grants them, log and progress. Host is asked for permission.
func Local(plugin *Plugin, reach *Reach, location session.Location, host session.ToolHost) Operations {
	return &operations{plugin: plugin, reach: reach, location: location,
		asked: &toolAuthority{host: host}, progress: host.Progress, host: host}
}
