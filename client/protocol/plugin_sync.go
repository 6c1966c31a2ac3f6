package protocol

// SyncPlugins has the host bring about what its plinth.lock says.
type SyncPlugins struct {
	// Dry only answers what would be done.
	Dry bool `json:"dry,omitempty"`
}

// PluginSync is what a synchronisation did, or would do, in its order.
type PluginSync struct {
	File  string           `json:"file"` // of the host
	Steps []PluginSyncStep `json:"steps"`
}

// PluginSyncStep is what was done about one plugin.
type PluginSyncStep struct {
	// Action is remove, replace, add, nothing or conflict: the list and the host's own
	// sources want different things.
	Action   string `json:"action"`
	ID       string `json:"id"`
	Location string `json:"location,omitempty"`
	Reason   string `json:"reason"`
	// Error is why it was not done.
	Error string `json:"error,omitempty"`
}

// PluginLock is the list that was written.
type PluginLock struct {
	File    string `json:"file"` // of the host
	Plugins int    `json:"plugins"`
}
