-- +goose Up

-- An aggregate's row is written when it is new, and when its fence, owner or
-- tombstone changes. An append alone does not touch it: the last sequence is
-- read from the events.
CREATE TABLE log_aggregate (
	num     INTEGER PRIMARY KEY,
	name    TEXT    NOT NULL UNIQUE,
	first   INTEGER NOT NULL DEFAULT 0,
	fence   INTEGER NOT NULL DEFAULT 0,
	owner   TEXT    NOT NULL DEFAULT '',
	deleted INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE log_event (
	position  INTEGER PRIMARY KEY,
	aggregate INTEGER NOT NULL,
	seq       INTEGER NOT NULL,
	id        TEXT    NOT NULL UNIQUE,
	type      TEXT    NOT NULL,
	version   INTEGER NOT NULL,
	time      INTEGER NOT NULL,
	actor     TEXT    NOT NULL,
	cause     TEXT    NOT NULL,
	trace     TEXT    NOT NULL,
	fence     INTEGER NOT NULL,
	data      BLOB,
	digest    BLOB
) STRICT;

CREATE UNIQUE INDEX log_event_seq ON log_event (aggregate, seq);

CREATE TABLE log_meta (
	name  TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE log_kv (
	namespace BLOB NOT NULL,
	key       BLOB NOT NULL,
	value     BLOB NOT NULL,
	PRIMARY KEY (namespace, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE log_view (
	name   TEXT PRIMARY KEY,
	reason TEXT NOT NULL
) STRICT, WITHOUT ROWID;
