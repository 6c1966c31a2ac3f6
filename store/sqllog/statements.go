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
	updateDeleted   = `UPDATE log_aggregate SET deleted = 1, owner = '' WHERE num = $1`
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
WHERE e.position > $1 ORDER BY e.position LIMIT $2`

	deleteEvents       = `DELETE FROM log_event WHERE aggregate = $1`
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
)

const (
	selectViews = `SELECT name, reason FROM log_view`
	upsertView  = `INSERT INTO log_view (name, reason) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET reason = excluded.reason`
)
