-- +goose Up

-- purging is set while events or rows are stored that nobody may read any more: all of
-- a deleted aggregate, those below first of another. deleted_ms is when it was deleted.
ALTER TABLE log_aggregate ADD COLUMN purging INTEGER NOT NULL DEFAULT 0;
ALTER TABLE log_aggregate ADD COLUMN deleted_ms INTEGER NOT NULL DEFAULT 0;
UPDATE log_aggregate SET deleted_ms = CAST(strftime('%s', 'now') AS INTEGER) * 1000 WHERE deleted = 1;
CREATE INDEX log_aggregate_purging ON log_aggregate (num) WHERE purging = 1;
CREATE INDEX log_aggregate_deleted ON log_aggregate (deleted_ms) WHERE deleted = 1;
