-- +goose Up
CREATE TABLE session_list (
    id         TEXT    NOT NULL PRIMARY KEY,
    position   INTEGER NOT NULL, -- of the creation: the order of the list
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL, -- of the last prompt that became visible
    title      TEXT    NOT NULL,
    preview    TEXT    NOT NULL, -- the start of the first prompt
    directory  TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    model      TEXT    NOT NULL  -- provider/model
) WITHOUT ROWID;
CREATE INDEX session_list_position ON session_list (position);
