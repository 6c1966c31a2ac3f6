// Package sqllog is the event log in SQL: the statements and the rules of
// appending, replaying, reading and deleting, over a transaction that a driver
// hands in. Each data statement is written once for SQLite and PostgreSQL:
// placeholders ascend from $1, names are ordered as bytes and never as text.
//
// A driver brings the tables (its own DDL), the transactions, the
// positions and the blobs. It decides how appends share a commit, and what a
// failed commit means.
//
// The tables, which the DDL of a driver must make, and their columns:
//
//	log_aggregate  num (generated integer key), name (text, unique), first (integer, 0),
//	               fence (integer, 0), owner (text, ''), deleted (integer, 0),
//	               purging (integer, 0), deleted_ms (integer, 0)
//	log_event      position (integer key), aggregate, seq, id (text, unique), type (text),
//	               version, time (integer, milliseconds), actor, cause, trace (text), fence,
//	               data (bytes, null when digest is set), digest (bytes, null);
//	               unique (aggregate, seq)
//	log_meta       name (text key), value (text)
//	log_kv         namespace (bytes), key (bytes), value (bytes); key (namespace, key)
//	log_view       name (text key), reason (text, empty while the view is fresh)
package sqllog
