// Package store is the contract of the event log: what an event is, what an
// append promises, how a reader follows a log without a gap, and the two
// smaller stores beside it, blobs and key-values.
//
// The package holds no implementation. store/sqllog has the statements,
// store/sqlite the driver under them, and store/storetest the suite that every
// implementation must pass.
package store
