// Package storetest is the suite that every implementation of store.Log,
// store.KV and store.Blobs must pass. An implementation's own test calls Run.
package storetest
