package protocol

// PluginNotice is something that a plugin's guest did while its author watches. Exactly
// one of Log and Failed is set.
type PluginNotice struct {
	Revision string      `json:"revision"`
	Log      *PluginLine `json:"log,omitempty"`
	Failed   *FailedCall `json:"failed,omitempty"`
	// Lost is how many notices were dropped before this one, as the client reads slowly.
	Lost int `json:"lost,omitempty"`
}

// PluginLine is a line that a guest printed or logged.
type PluginLine struct {
	Level string `json:"level"` // trace, debug, info, warn or error
	Text  string `json:"text"`
}

// FailedCall is a call that failed.
type FailedCall struct {
	// Recording is the text of the file that plinth plugin replay reads.
	Recording string `json:"recording"`
}
