package abi

// ProcessRun is the request of "process.run": a command line for the user's shell.
type ProcessRun struct {
	Command string `json:"command"` // the line; at most 64 KiB with Environment
	// Path is the working directory, "location" itself when empty.
	Path Path `json:"path,omitzero"`
	// Environment adds variables. Those of the host that may hold a secret are not
	// there.
	Environment map[string]string `json:"environment,omitempty"`
	Input       string            `json:"input,omitempty"` // standard input
	// TimeoutMS is at most 600,000; 0 means 120,000.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
	// Apart gives standard output and standard error as two texts.
	Apart bool `json:"apart,omitempty"`
}

// ProcessRan is its ok, however the command ended.
type ProcessRan struct {
	ExitCode int    `json:"exit_code"`        // -1 when a signal ended it
	Signal   string `json:"signal,omitempty"` // for example "SIGKILL"
	// Stopped is why the host ended it: "timeout", "flood" or "crowd"; empty when it
	// ended by itself.
	Stopped    string        `json:"stopped,omitempty"`
	DurationMS int64         `json:"duration_ms"`     // running time, milliseconds
	Output     ProcessOutput `json:"output"`          // what it printed; with Apart to standard output
	Errors     ProcessOutput `json:"errors,omitzero"` // with Apart
	// Background counts processes that it left behind, which were ended.
	Background int `json:"background,omitempty"`
	// Sandbox is what bounded its writes, "landlock" or "none".
	Sandbox string `json:"sandbox"`
	// SandboxNote is why there was none, what of it did not hold, or that it refused
	// TCP; else empty.
	SandboxNote string `json:"sandbox_note,omitempty"`
}

// ProcessOutput is what a command printed.
type ProcessOutput struct {
	Head    string `json:"head"`              // the beginning, or everything
	Tail    string `json:"tail,omitempty"`    // the end, when something was omitted
	Omitted int64  `json:"omitted,omitempty"` // bytes between them
	Total   int64  `json:"total"`             // bytes
	// Blob is the whole output when something was omitted, as far as it was kept.
	Blob *Blob `json:"blob,omitempty"`
	// Path is a file with the same, absolute, which the model's tools can read for some
	// days. Empty when it could not be written.
	Path string `json:"path,omitempty"`
}
