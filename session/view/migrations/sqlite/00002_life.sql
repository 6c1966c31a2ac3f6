-- +goose Up
ALTER TABLE session_list ADD COLUMN archived_ms INTEGER NOT NULL DEFAULT 0; -- 0 while it is not
ALTER TABLE session_list ADD COLUMN slug TEXT NOT NULL DEFAULT '';
DROP INDEX session_list_position;
CREATE INDEX session_list_created ON session_list (created_ms, position);
CREATE INDEX session_list_slug ON session_list (slug) WHERE slug <> '';
