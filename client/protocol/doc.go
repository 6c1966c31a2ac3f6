// Package protocol is the wire of a Plinth host: the bodies of its HTTP
// routes, the frames of its live WebSocket, cursors and error codes. Clients
// and the server share it; it needs the standard library only.
//
// A reader ignores fields and event types it does not know. A writer sends only
// what is here: the server refuses unknown fields and names them.
package protocol

const (
	// Version is the protocol's major version, sent in hello.
	Version = 1
	// Subprotocol is the WebSocket sub-protocol of that version.
	Subprotocol = "plinth.v1.json"
	// LivePath is where the WebSocket is.
	LivePath = "/v1/live"
	// MaxFrame bounds a frame and a request body, in bytes, both ways.
	MaxFrame = 1 << 20
)
