package protocol

// Client frames. Every frame has its kind in "t".

// Hello is the first frame of a client, within 5 seconds.
type Hello struct {
	T      string     `json:"t"` // "hello"
	Proto  int        `json:"proto"`
	Ticket string     `json:"ticket,omitempty"`
	Client ClientInfo `json:"client"`
	Want   Want       `json:"want"`
}

// ClientInfo names the program at the other end.
type ClientInfo struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	// ID is the client's own name for itself, at most 64 bytes. A connection ends
	// (4012) when the same principal opens another under the same id.
	ID string `json:"id,omitempty"`
}

// Want is what a client asks for beyond the frames it needs.
type Want struct {
	// Pong asks for application pings with heads, for clients that cannot see
	// protocol pings.
	Pong bool `json:"pong,omitempty"`
}

// Subscription scopes; the others of the protocol are refused by this version.
const (
	ScopeSession = "session" // one session
	ScopeHost    = "host"    // the host: its plugins and approvals
)

// HostEvents stands for a session's id in the events of the host.
const HostEvents = "host"

// Sub begins a subscription under a name the client chooses.
type Sub struct {
	T       string `json:"t"` // "sub"
	Sub     string `json:"sub"`
	Scope   string `json:"scope"`
	Session string `json:"session,omitempty"`
	// After is the cursor to go on from; the first event when empty.
	After string `json:"after,omitempty"`
	// Deltas asks for the text of parts that are still streaming.
	Deltas bool `json:"deltas,omitempty"`
	// Types are event types, each may end in "*". All when empty.
	Types []string `json:"types,omitempty"`
	// Window is not served by this version and must be 0.
	Window int `json:"window,omitempty"`
}

// Ack moves a window on.
type Ack struct {
	T      string `json:"t"` // "ack"
	Sub    string `json:"sub"`
	Cursor string `json:"cursor"`
}

// Unsub ends a subscription; the server answers with end.
type Unsub struct {
	T   string `json:"t"` // "unsub"
	Sub string `json:"sub"`
}

// Req is one request. Params is decoded by the method.
type Req struct {
	T      string `json:"t"` // "req"
	ID     string `json:"id"`
	Method string `json:"method"`
	// Key makes the request repeatable: the same key has one effect. At most
	// MaxKey bytes.
	Key    string `json:"key,omitempty"`
	Params Raw    `json:"params,omitempty"`
}

// Pong answers a ping.
type Pong struct {
	T string `json:"t"` // "pong"
	N int64  `json:"n"`
}

// Server frames.

// Welcome answers hello.
type Welcome struct {
	T           string     `json:"t"` // "welcome"
	Conn        string     `json:"conn"`
	Scopes      []Scope    `json:"scopes"`
	HeartbeatMS int64      `json:"heartbeat_ms"`
	Limits      Limits     `json:"limits"`
	Server      ServerInfo `json:"server"`
}

// Limits are what one connection may use at once.
type Limits struct {
	Frame    int `json:"frame"`
	Inflight int `json:"inflight"`
	Subs     int `json:"subs"`
}

// ServerInfo names the server and the protocols it speaks.
type ServerInfo struct {
	Version string `json:"version"`
	Proto   []int  `json:"proto"`
}

// Subscribed answers sub: events after From follow, Head is the last one now.
type Subscribed struct {
	T    string `json:"t"` // "subscribed"
	Sub  string `json:"sub"`
	Head string `json:"head"`
	From string `json:"from"`
}

// Ev is one event of a subscription.
type Ev struct {
	T   string `json:"t"` // "ev"
	Sub string `json:"sub"`
	// Prev is the sequence of the event sent before in this subscription; of the
	// first one, the sequence the subscription began after (-1 at the start).
	Prev int64 `json:"prev"`
	Event
}

// Mark moves the cursor past events that the type filter left out.
type Mark struct {
	T      string `json:"t"` // "mark"
	Sub    string `json:"sub"`
	Cursor string `json:"cursor"`
}

// Live says once that history is through.
type Live struct {
	T      string `json:"t"` // "live"
	Sub    string `json:"sub"`
	Cursor string `json:"cursor"`
}

// Delta is a piece of a streaming part ("d"), or the whole part so far ("part").
type Delta struct {
	T       string   `json:"t"` // "d" or "part"
	Sub     string   `json:"sub"`
	Session string   `json:"session"`
	Message string   `json:"message"`
	Part    string   `json:"part"`
	Kind    PartKind `json:"kind"`
	// N is the number of UTF-8 bytes of the part so far, this piece included.
	N    int    `json:"n"`
	Text string `json:"text"`
}

// Reset ends a subscription whose cursor cannot be resumed; see ResetError.
type Reset struct {
	T      string      `json:"t"` // "reset"
	Sub    string      `json:"sub"`
	Reason ResetReason `json:"reason"`
	First  string      `json:"first"`
	Head   string      `json:"head"`
}

// EndReason is why a subscription ended.
type EndReason string

// The reasons.
const (
	EndUnsubscribed EndReason = "unsubscribed"
	EndRevoked      EndReason = "revoked"
	EndDeleted      EndReason = "deleted"
	EndFailed       EndReason = "failed" // the log could not be read; subscribe again
)

// End is the last frame of a subscription.
type End struct {
	T      string    `json:"t"` // "end"
	Sub    string    `json:"sub"`
	Reason EndReason `json:"reason"`
}

// Res answers a req. It is sent when Cursor can be read.
type Res struct {
	T      string `json:"t"` // "res"
	ID     string `json:"id"`
	OK     bool   `json:"ok"`
	Cursor string `json:"cursor,omitempty"`
	Result Raw    `json:"result,omitempty"`
	Error  *Error `json:"error,omitempty"`
}

// ErrFrame answers a frame that was no good. Of is its id or sub, when it could
// be read.
type ErrFrame struct {
	T     string `json:"t"` // "err"
	Of    string `json:"of,omitempty"`
	Error *Error `json:"error"`
}

// Ping asks for a pong and tells the last place of each subscription.
type Ping struct {
	T     string            `json:"t"` // "ping"
	N     int64             `json:"n"`
	Heads map[string]string `json:"heads,omitempty"`
}

// Bye is the last frame before a server that goes away closes.
type Bye struct {
	T           string `json:"t"`    // "bye"
	Code        string `json:"code"` // "draining"
	ReconnectMS int64  `json:"reconnect_ms"`
}
