package protocol

// Plugin is one plugin as the host found it.
type Plugin struct {
	// ID is "owner/name"; empty when not even the manifest could be read.
	ID      string `json:"id,omitempty"`
	Version string `json:"version,omitempty"`
	// Origin is where it came from: "builtin core/files", or a path of the host.
	Origin string `json:"origin"`
	// Revision names the module with its settings.
	Revision string      `json:"revision,omitempty"`
	State    PluginState `json:"state"`
	// Error is why a plugin failed: the file, the field and the fix.
	Error string `json:"error,omitempty"`
}

// PluginState is where a plugin stands.
type PluginState string

// The states.
const (
	PluginActive   PluginState = "active"
	PluginFailed   PluginState = "failed"
	PluginDisabled PluginState = "disabled"
)

// PluginList lists the plugins in the order they were loaded.
type PluginList struct {
	Plugins []Plugin `json:"plugins"`
}
