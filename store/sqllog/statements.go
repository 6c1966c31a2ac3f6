package sqllog

// The statements of the log. The event's columns are listed once, in the order
// that scanEvent reads them.

const selectHead = `
SELECT a.num, a.first, a.fence, a.owner, a.deleted,
	coalesce((SELECT max(e.seq) FROM log_event e WHERE e.aggregate = a.num), a.first - 1)
FROM log_aggregate a WHERE a.name = $1`

const (
	insertAggregate = `INSERT INTO log_aggregate (name) VALUES ($1) RETURNING num`
	updateFence     = `UPDATE log_aggregate SET fence = $1 WHERE num = $2`
	updateOwner     = `UPDATE log_aggregate SET owner = $1 WHERE num = $2`
	updateDeleted   = `UPDATE log_aggregate SET deleted = 1, owner = '', purging = 1, deleted_ms = $1 WHERE num = $2`
	updateFirst     = `UPDATE log_aggregate SET first = $1, purging = $2 WHERE num = $3`
	updatePurged    = `UPDATE log_aggregate SET purging = 0 WHERE num = $1`
)

const (
	selectPurging = `SELECT a.num, a.name, a.first, a.deleted FROM log_aggregate a WHERE a.purging = 1 LIMIT 1`
	selectRemains = `SELECT a.name, a.deleted, (SELECT count(*) FROM log_event e
	WHERE e.aggregate = a.num AND (a.deleted = 1 OR e.seq < a.first)) FROM log_aggregate a WHERE a.purging = 1`
	deleteEvents = `DELETE FROM log_event WHERE position IN (
	SELECT e.position FROM log_event e WHERE e.aggregate = $1 AND e.seq < $2 ORDER BY e.seq LIMIT $3)`
	deleteTombstones = `DELETE FROM log_aggregate WHERE num IN (
	SELECT a.num FROM log_aggregate a WHERE a.deleted = 1 AND a.purging = 0 AND a.deleted_ms < $1 LIMIT $2)`
)

const insertEvent = `
INSERT INTO log_event (position, aggregate, seq, id, type, version, time, actor, cause, trace, fence, data, digest)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
ON CONFLICT (id) DO NOTHING`

const (
	eventColumns = `e.position, e.seq, e.id, e.type, e.version, e.time, e.actor, e.cause, e.trace, e.fence, e.data, e.digest`

	selectEvents = `SELECT a.name, ` + eventColumns + `
FROM log_aggregate a JOIN log_event e ON e.aggregate = a.num
WHERE a.num = $1 AND e.seq > $2 ORDER BY e.seq LIMIT $3`

	selectFeed = `SELECT a.name, ` + eventColumns + `
FROM log_event e JOIN log_aggregate a ON a.num = e.aggregate
WHERE e.position > $1 AND a.deleted = 0 AND e.seq >= a.first ORDER BY e.position LIMIT $2`

	selectLastPosition = `SELECT coalesce(max(position), 0) FROM log_event`
)

const (
	selectMeta = `SELECT value FROM log_meta WHERE name = $1`
	upsertMeta = `INSERT INTO log_meta (name, value) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET value = excluded.value`
)

const (
	selectValue = `SELECT value FROM log_kv WHERE namespace = $1 AND key = $2`
	upsertValue = `INSERT INTO log_kv (namespace, key, value) VALUES ($1, $2, $3)
ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value`
	deleteValue = `DELETE FROM log_kv WHERE namespace = $1 AND key = $2`
	selectKeys  = `SELECT key FROM log_kv WHERE namespace = $1 AND key >= $2 ORDER BY key LIMIT $3`
	// One at a time: each is found in the index, however much the ones between hold.
	selectNamespace = `SELECT namespace FROM log_kv WHERE namespace >= $1 ORDER BY namespace LIMIT 1`
	clearValues     = `DELETE FROM log_kv WHERE namespace = $1 AND key IN
(SELECT key FROM log_kv WHERE namespace = $2 ORDER BY key LIMIT $3)`
)

const (
	selectViews = `SELECT name, reason FROM log_view`
	upsertView  = `INSERT INTO log_view (name, reason) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET reason = excluded.reason`
)
