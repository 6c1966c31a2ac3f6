// Package sqlite is the event log on SQLite: a thin driver under store/sqllog
// with one writer that commits in groups, a pool of readers, a folder of blobs
// and a lock that keeps a second process out.
//
// DESIGN.md tells how a commit is made and what each failure does.
package sqlite
