package abi

import "encoding/json"

// The store of a plugin: values by key, in a scope. It asks for it with [request.kv].
const (
	KVGlobal  = "global"  // of the plugin; the default
	KVSession = "session" // of the plugin in this session
)

// KVGet is the request of "kv.get".
type KVGet struct {
	Scope string `json:"scope,omitempty"` // KVGlobal when empty
	Key   string `json:"key"`             // 1 to 256 bytes
}

// KVValue is its ok. Version is what was set with the value.
type KVValue struct {
	Value   json.RawMessage `json:"value"`   // as it was set
	Version int             `json:"version"` // what was set with it; 0 when none was
}

// KVSet is the request of "kv.set". All keys and values of a plugin together, in one
// scope, have at most 1 MiB.
type KVSet struct {
	Scope string          `json:"scope,omitempty"` // KVGlobal when empty
	Key   string          `json:"key"`             // 1 to 256 bytes
	Value json.RawMessage `json:"value"`           // any JSON
	// Version is that of the value's form, for the plugin's own use; 0 or more.
	Version int `json:"version,omitempty"`
}

// KVDelete is the request of "kv.delete". A key that is not there is no error.
type KVDelete struct {
	Scope string `json:"scope,omitempty"` // KVGlobal when empty
	Key   string `json:"key"`             // 1 to 256 bytes
}

// KVList is the request of "kv.list": keys in byte order.
type KVList struct {
	Scope  string `json:"scope,omitempty"`  // KVGlobal when empty
	Prefix string `json:"prefix,omitempty"` // what keys begin with; empty for all
	After  string `json:"after,omitempty"`  // the last key of the page before
	Limit  int    `json:"limit,omitempty"`  // 0 and more than 1,000 mean 1,000
}

// KVListed is its ok. More is set when there are further keys.
type KVListed struct {
	Keys []string `json:"keys"`           // at most Limit
	More bool     `json:"more,omitempty"` // there are further ones
}
