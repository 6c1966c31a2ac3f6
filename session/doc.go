// Package session is the kernel's domain: sessions and their events, the tables
// that follow from them, the inbox of admitted prompts, the coordinator that
// runs one drain per session, permissions, and the ports where providers, tools,
// context sources and transforms plug in.
package session
