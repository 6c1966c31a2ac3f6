package protocol

// ContextReport tells what the next request of a session would be made of, were it made
// now. Nothing is recorded or promoted for it. Tokens are estimated: a fourth of the
// bytes, rounded up.
type ContextReport struct {
	SessionID string `json:"sessionID"`
	// Epoch is the sequence that began the context epoch; absent when the next turn
	// begins one.
	Epoch *int64 `json:"epoch,omitempty"`
	// Sources are the parts of the baseline by key, the largest first. What transforms and
	// separators add has the key "".
	Sources []ContextPart `json:"sources"`
	// Tools by name, the largest first.
	Tools    []ContextPart    `json:"tools"`
	Messages []ContextMessage `json:"messages"` // in their order
	Bytes    int64            `json:"bytes"`
	Tokens   int64            `json:"tokens"`
	// Window is what the model takes, in tokens; absent when unknown.
	Window int64 `json:"window,omitempty"`
	// Largest is the greatest part: "source KEY", "tool NAME" or "message ID".
	Largest string `json:"largest,omitempty"`
	// Unavailable are keys that could not be read now. Blocked are those that a new epoch
	// waits for, and Held those that flap and stay at what was told last.
	Unavailable []string `json:"unavailable,omitempty"`
	Blocked     []string `json:"blocked,omitempty"`
	Held        []string `json:"held,omitempty"`
	// Problem is why no request would be made now.
	Problem string `json:"problem,omitempty"`
	Cursor  string `json:"cursor,omitempty"`
}

// ContextPart is how much of a request a source or a tool is.
type ContextPart struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	Tokens int64  `json:"tokens"`
}

// ContextMessage is how much of a request a message is.
type ContextMessage struct {
	ID   string      `json:"id"`
	Type MessageType `json:"type"`
	// Pending: it is not recorded yet, a prompt that waits or news of the context.
	Pending bool  `json:"pending,omitempty"`
	Bytes   int64 `json:"bytes"`
	Tokens  int64 `json:"tokens"`
	// Media counts the files in it that are not text; their bytes are not counted.
	Media int `json:"media,omitempty"`
}

// ContextMetrics is what the contexts of all sessions took since the host started.
type ContextMetrics struct {
	Sources []ContextSourceMetrics `json:"sources"` // by name
	// Baselines were rendered, of BaselineBytes together, the largest of BaselineMax.
	Baselines     int64 `json:"baselines"`
	BaselineBytes int64 `json:"baselineBytes"`
	BaselineMax   int64 `json:"baselineMax"`
	// Updates were told, of UpdateBytes together.
	Updates     int64 `json:"updates"`
	UpdateBytes int64 `json:"updateBytes"`
	// Blocked turns went on with an epoch that should have ended.
	Blocked int64 `json:"blocked"`
	// Contended turns were prepared again, because the session changed meanwhile.
	Contended int64 `json:"contended"`
}

// ContextSourceMetrics is of one contribution to the context, in all sessions.
type ContextSourceMetrics struct {
	Name         string  `json:"name"`
	Observations int64   `json:"observations"`
	TotalMS      float64 `json:"totalMS"` // that they took together
	MaxMS        float64 `json:"maxMS"`
	Unavailable  int64   `json:"unavailable"` // observations without one of its keys
	Held         int64   `json:"held"`        // values that were not told because they flap
}
