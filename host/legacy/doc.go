// Package legacy reads the JSON files in which the older session subsystem (V1) kept its
// sessions, and makes bundles of them. The files are a stranger's: nothing outside their
// folder is read, no link is followed, and what is malformed is named by its file and
// field. Reading the same files twice makes the same bundles.
package legacy
