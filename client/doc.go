// Package client talks to a Plinth host: over its unix socket without a token, or
// over HTTP with one. It is also what the command line uses.
//
// Commands are HTTP requests and are repeated when the connection failed or the
// host was busy; a key makes each have one effect. Follow reads a session live
// over a WebSocket: it reconnects, resumes by cursor, checks that no event is
// missing and puts the fragments of streaming text together.
package client
