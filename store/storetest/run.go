package storetest

import (
	"testing"

	"github.com/plinthhost/plinth/store"
)

// Setup is what a log is opened with.
type Setup struct {
	// Dir names the log: opened again with the same Dir it has the same content.
	Dir string
	// Schema are statements that make the tables of the projections, in SQL that
	// all databases take. They run once for each Dir.
	Schema []string
	// Projections run in the append's transaction.
	Projections []store.Projection
}

// Subject is an open log and what stands beside it.
type Subject struct {
	store.Log
	KV    store.KV
	Blobs store.Blobs
	// Fill makes the database full: what needs more room fails from now on. It
	// answers a function that makes room again.
	Fill func(t *testing.T) (free func())
	// SpoilBlob changes the stored bytes of a blob.
	SpoilBlob func(t *testing.T, digest string)
}

// Harness opens the logs under test.
type Harness struct {
	// Open must succeed; the suite closes the log.
	Open func(t *testing.T, setup Setup) Subject
	// Lose are statements after which the whole transaction is gone, or would be
	// committed too early. Each runs twice, so the second may be the one. The table
	// storetest_trap (id, unique) is there for them.
	Lose []string
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	t.Run("append", func(t *testing.T) { testAppend(t, h) })
	t.Run("modes", func(t *testing.T) { testModes(t, h) })
	t.Run("refused", func(t *testing.T) { testRefused(t, h) })
	t.Run("read", func(t *testing.T) { testRead(t, h) })
	t.Run("tail", func(t *testing.T) { testTail(t, h) })
	t.Run("replay", func(t *testing.T) { testReplay(t, h) })
	t.Run("projection", func(t *testing.T) { testProjection(t, h) })
	t.Run("lost transaction", func(t *testing.T) { testLost(t, h) })
	t.Run("cancel", func(t *testing.T) { testCancel(t, h) })
	t.Run("delete", func(t *testing.T) { testDelete(t, h) })
	t.Run("purge", func(t *testing.T) { testPurge(t, h) })
	t.Run("prune", func(t *testing.T) { testPrune(t, h) })
	t.Run("bury", func(t *testing.T) { testBury(t, h) })
	t.Run("full", func(t *testing.T) { testFull(t, h) })
	t.Run("kv", func(t *testing.T) { testKV(t, h) })
	t.Run("blobs", func(t *testing.T) { testBlobs(t, h) })
	t.Run("close", func(t *testing.T) { testClose(t, h) })
	t.Run("model", func(t *testing.T) { testModel(t, h) })
}
