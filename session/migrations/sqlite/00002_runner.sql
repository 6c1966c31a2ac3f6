-- +goose Up
ALTER TABLE session ADD COLUMN parent_id TEXT NOT NULL DEFAULT '';      -- the session whose call made it
ALTER TABLE session ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;        -- ancestors
ALTER TABLE session ADD COLUMN rules TEXT NOT NULL DEFAULT '[]';        -- JSON
ALTER TABLE session ADD COLUMN budgets TEXT NOT NULL DEFAULT '[]';      -- JSON
ALTER TABLE session ADD COLUMN resume_seq INTEGER NOT NULL DEFAULT -1;  -- of a resume that nothing has served yet
ALTER TABLE session ADD COLUMN history_seq INTEGER NOT NULL DEFAULT -1; -- the last message that a compaction folded
ALTER TABLE session ADD COLUMN compaction_seq INTEGER NOT NULL DEFAULT -1; -- the message of that compaction
CREATE INDEX session_parent ON session (parent_id) WHERE parent_id <> '';
CREATE INDEX session_resume ON session (id) WHERE resume_seq >= 0;

-- An activity that has not ended; an idle session has none.
CREATE TABLE activity (
    session_id  TEXT    NOT NULL PRIMARY KEY,
    id          TEXT    NOT NULL,
    opener      TEXT    NOT NULL,
    started_seq INTEGER NOT NULL,
    state       TEXT    NOT NULL, -- running or suspended
    reason      TEXT    NOT NULL, -- why it is suspended
    turns       INTEGER NOT NULL, -- provider turns so far
    steps       INTEGER NOT NULL, -- since the last prompt that was promoted
    attempts    INTEGER NOT NULL, -- crashes it has survived
    turn_seq    INTEGER NOT NULL, -- of the turn whose outcome is not recorded, -1 for none
    retries     TEXT    NOT NULL  -- JSON, of that turn
) WITHOUT ROWID;
INSERT INTO activity (session_id, id, opener, started_seq, state, reason, turns, steps, attempts, turn_seq, retries)
    SELECT id, activity, 'prompt', 0, 'running', '', 1, 1, 0, -1, '[]' FROM session WHERE activity <> '';
DROP INDEX session_running;
ALTER TABLE session DROP COLUMN activity;

ALTER TABLE input ADD COLUMN position INTEGER NOT NULL DEFAULT 0; -- order in the inbox
ALTER TABLE input ADD COLUMN synthetic INTEGER NOT NULL DEFAULT 0;
ALTER TABLE input ADD COLUMN cancelled_seq INTEGER;               -- null unless it was cancelled
ALTER TABLE input ADD COLUMN digest TEXT NOT NULL DEFAULT '';     -- of what was admitted; what an exact retry must have
UPDATE input SET position = admitted_seq;
DROP INDEX input_pending;
CREATE INDEX input_pending ON input (session_id, position) WHERE promoted_seq IS NULL AND cancelled_seq IS NULL;

CREATE INDEX permission_session ON permission (session_id, asked_seq);

CREATE TABLE question (
    id         TEXT    NOT NULL PRIMARY KEY,
    session_id TEXT    NOT NULL,
    asked_seq  INTEGER NOT NULL,
    asked_ms   INTEGER NOT NULL,
    body       TEXT    NOT NULL, -- JSON
    state      TEXT    NOT NULL, -- open, answered, dismissed or withdrawn
    answers    TEXT    NOT NULL  -- JSON
) WITHOUT ROWID;
CREATE INDEX question_session ON question (session_id, asked_seq);
CREATE INDEX question_open ON question (session_id, asked_seq) WHERE state = 'open';

-- Requests of sessions below, which their ancestors show.
CREATE TABLE child_request (
    session_id TEXT NOT NULL, -- the ancestor
    request    TEXT NOT NULL,
    child_id   TEXT NOT NULL,
    PRIMARY KEY (session_id, request)
) WITHOUT ROWID;

-- The newest message of a person's command, by its call.
CREATE TABLE shell (
    session_id TEXT NOT NULL,
    call       TEXT NOT NULL,
    message    TEXT NOT NULL,
    PRIMARY KEY (session_id, call)
) WITHOUT ROWID;

CREATE TABLE todo (
    session_id TEXT NOT NULL PRIMARY KEY,
    body       TEXT NOT NULL -- JSON
) WITHOUT ROWID;

CREATE TABLE task (
    session_id TEXT    NOT NULL, -- the parent
    child_id   TEXT    NOT NULL,
    prompt     TEXT    NOT NULL, -- in the child's inbox
    body       TEXT    NOT NULL, -- JSON
    outcome    TEXT    NOT NULL, -- empty while it runs
    PRIMARY KEY (session_id, child_id, prompt)
) WITHOUT ROWID;
CREATE INDEX task_running ON task (session_id) WHERE outcome = '';

-- What was spent, by scope: a session's id (with its children) or day/YYYY-MM-DD (UTC).
CREATE TABLE spent (
    scope       TEXT    NOT NULL PRIMARY KEY,
    input       INTEGER NOT NULL, -- tokens
    output      INTEGER NOT NULL,
    reasoning   INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    cost_nano   INTEGER NOT NULL, -- of the steps whose cost is known
    unpriced    INTEGER NOT NULL, -- steps whose cost is unknown
    turns       INTEGER NOT NULL
) WITHOUT ROWID;

ALTER TABLE approval ADD COLUMN saved_ms INTEGER NOT NULL DEFAULT 0;

