-- +goose Up
CREATE TABLE session (
    id             TEXT    NOT NULL PRIMARY KEY,
    title          TEXT    NOT NULL,
    location       TEXT    NOT NULL, -- JSON
    agent          TEXT    NOT NULL,
    model_provider TEXT    NOT NULL,
    model          TEXT    NOT NULL,
    model_variant  TEXT    NOT NULL,
    created_ms     INTEGER NOT NULL,
    interrupt_seq  INTEGER NOT NULL, -- of the last interrupt, -1 when there was none
    activity       TEXT    NOT NULL  -- the activity that has not ended, or empty
) WITHOUT ROWID;
CREATE INDEX session_running ON session (id) WHERE activity <> '';

CREATE TABLE input (
    id           TEXT    NOT NULL PRIMARY KEY,
    session_id   TEXT    NOT NULL,
    delivery     TEXT    NOT NULL,
    prompt       TEXT    NOT NULL, -- JSON
    created_ms   INTEGER NOT NULL,
    admitted_seq INTEGER NOT NULL,
    wake_seq     INTEGER NOT NULL, -- of the event that asked for execution, -1 when none did
    promoted_seq INTEGER           -- null while pending
) WITHOUT ROWID;
CREATE INDEX input_pending ON input (session_id, admitted_seq) WHERE promoted_seq IS NULL;

CREATE TABLE message (
    session_id TEXT    NOT NULL,
    seq        INTEGER NOT NULL, -- of the event that made it; updates never change it
    id         TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    created_ms INTEGER NOT NULL,
    body       TEXT    NOT NULL, -- JSON
    PRIMARY KEY (session_id, seq)
) WITHOUT ROWID;
CREATE UNIQUE INDEX message_id ON message (id);

CREATE TABLE part (
    session_id  TEXT    NOT NULL,
    message_seq INTEGER NOT NULL,
    ordinal     INTEGER NOT NULL,
    tool_call   TEXT    NOT NULL, -- the call's id of a tool part, else empty
    body        TEXT    NOT NULL, -- JSON
    PRIMARY KEY (session_id, message_seq, ordinal)
) WITHOUT ROWID;

CREATE TABLE epoch (
    session_id   TEXT    NOT NULL PRIMARY KEY,
    baseline     TEXT    NOT NULL,
    snapshot     TEXT    NOT NULL, -- JSON
    baseline_seq INTEGER NOT NULL  -- of the event that began the epoch
) WITHOUT ROWID;

CREATE TABLE permission (
    id         TEXT    NOT NULL PRIMARY KEY,
    session_id TEXT    NOT NULL,
    asked_seq  INTEGER NOT NULL,
    asked_ms   INTEGER NOT NULL,
    body       TEXT    NOT NULL, -- JSON
    reply      TEXT    NOT NULL, -- empty while it is open
    feedback   TEXT    NOT NULL
) WITHOUT ROWID;
CREATE INDEX permission_open ON permission (session_id, asked_seq) WHERE reply = '';

CREATE TABLE approval (
    root     TEXT NOT NULL, -- the project
    plugin   TEXT NOT NULL, -- who asked; empty for the host and builtins
    action   TEXT NOT NULL,
    resource TEXT NOT NULL,
    PRIMARY KEY (root, plugin, action, resource)
) WITHOUT ROWID;
