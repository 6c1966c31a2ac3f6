-- +goose Up
ALTER TABLE session ADD COLUMN slug TEXT NOT NULL DEFAULT '';             -- a name for people
ALTER TABLE session ADD COLUMN archived_ms INTEGER NOT NULL DEFAULT 0;    -- 0 while it is not
ALTER TABLE session ADD COLUMN fork TEXT NOT NULL DEFAULT '';             -- JSON, of a fork
ALTER TABLE session ADD COLUMN retention TEXT NOT NULL DEFAULT '';        -- JSON, its own
ALTER TABLE session ADD COLUMN revert TEXT NOT NULL DEFAULT '';           -- JSON, while one is staged
ALTER TABLE session ADD COLUMN unrestored TEXT NOT NULL DEFAULT '[]';     -- JSON, paths that the last revert or its clearing could not restore
ALTER TABLE session ADD COLUMN changes TEXT NOT NULL DEFAULT '';          -- JSON, what became of the files
ALTER TABLE session ADD COLUMN compact_seq INTEGER NOT NULL DEFAULT -1;   -- of a compaction that somebody asks for
ALTER TABLE session ADD COLUMN pruned_seq INTEGER NOT NULL DEFAULT -1;    -- of the last pruning
ALTER TABLE session ADD COLUMN compacting TEXT NOT NULL DEFAULT '';       -- JSON, of a compaction that has not come out
ALTER TABLE session ADD COLUMN rewritten_seq INTEGER NOT NULL DEFAULT -1; -- of the last change of what the model is sent of earlier messages
ALTER TABLE session ADD COLUMN answered_seq INTEGER NOT NULL DEFAULT -1;  -- what the prompts up to here asked for is done
CREATE INDEX session_compact ON session (id) WHERE compact_seq >= 0;
CREATE INDEX session_compacting ON session (id) WHERE compacting <> '';
CREATE INDEX input_done ON input (session_id) WHERE promoted_seq IS NOT NULL OR cancelled_seq IS NOT NULL;
CREATE INDEX session_slug ON session (slug) WHERE slug <> '';

ALTER TABLE shell ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;            -- 1 when the command has ended
UPDATE shell SET ended = 1;                                               -- nothing started one that could be left
CREATE INDEX shell_open ON shell (session_id) WHERE ended = 0;

CREATE TABLE directory_read (
    session_id TEXT NOT NULL,
    directory  TEXT NOT NULL,
    PRIMARY KEY (session_id, directory)
) WITHOUT ROWID;
