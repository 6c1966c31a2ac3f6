-- +goose Up
CREATE TABLE plugin (
    plugin   TEXT    NOT NULL, -- owner/name
    location TEXT    NOT NULL, -- a project's root; empty for the global level
    seq      INTEGER NOT NULL, -- of the event that it was first known by
    state    TEXT    NOT NULL,
    revision TEXT    NOT NULL, -- that serves, or did when it was disabled or quarantined
    held     TEXT    NOT NULL, -- JSON, of a version that waits for approval
    failed   TEXT    NOT NULL, -- JSON, of the version that did not come to serve last
    error    TEXT    NOT NULL, -- why the last version did not come to serve
    attempts INTEGER NOT NULL, -- starts of the revision that failed in a row
    configured INTEGER NOT NULL, -- 1 when the configuration disabled it
    changed_ms INTEGER NOT NULL,
    PRIMARY KEY (plugin, location)
) WITHOUT ROWID;

CREATE TABLE plugin_revision (
    plugin   TEXT    NOT NULL,
    location TEXT    NOT NULL,
    revision TEXT    NOT NULL,
    seq      INTEGER NOT NULL, -- of the event that staged it last
    body     TEXT    NOT NULL, -- JSON, of that event
    state    TEXT    NOT NULL,
    blocked  INTEGER NOT NULL, -- 1 when it is not to come back by itself
    error    TEXT    NOT NULL,
    faults   TEXT    NOT NULL, -- JSON, of its probation
    activated_ms INTEGER NOT NULL, -- 0 when it never was
    proved   INTEGER NOT NULL, -- 1 after its probation
    PRIMARY KEY (plugin, location, revision)
) WITHOUT ROWID;

CREATE TABLE plugin_approval (
    plugin   TEXT    NOT NULL,
    location TEXT    NOT NULL,
    digest   TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    body     TEXT    NOT NULL, -- JSON, of the event
    PRIMARY KEY (plugin, location, digest)
) WITHOUT ROWID;

CREATE TABLE trusted_folder (
    root       TEXT PRIMARY KEY,
    trusted_ms INTEGER NOT NULL
) WITHOUT ROWID;
