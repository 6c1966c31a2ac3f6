// Package server is the edge of a host: HTTP with OpenAPI, event streams and
// one live WebSocket, on loopback TCP with tokens and on a unix socket with peer
// credentials.
//
// It knows the wire types of client/protocol and the small interfaces of
// backend.go, and nothing of the kernel behind them; cmd/host adapts one to the
// other. Every request passes the same checks in the same order: Host, Origin,
// size, authentication, rights.
//
// The event log is the only buffer. A subscription is a place in it: a slow
// client costs a cursor, never a queue. The text of parts that are still
// streaming is derived by each subscription from its own byte offsets.
package server
