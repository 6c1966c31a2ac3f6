package main

import (
	"encoding/json"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
)

// page is what is kept of an address in the plugin's store, from turn to turn and over
// restarts.
type page struct {
	url string

	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
	Text     string `json:"text,omitempty"`
	Long     int64  `json:"long,omitempty"` // bytes of a text that is too long to be kept
	Fetched  bool   `json:"fetched,omitempty"`
	TriedMS  int64  `json:"tried_ms"`
	Failed   bool   `json:"failed,omitempty"` // the last try
}

const (
	pagePrefix  = "page:"
	pageVersion = 1
)

func pageKey(url string) string { return pagePrefix + sha256Hex(url)[:32] }

// loadPage reads what is kept; what cannot be read is as if nothing were.
func loadPage(url string) page {
	none := page{url: url}
	kept, err := host.KVGet(abi.KVGet{Key: pageKey(url)})
	if err != nil {
		if plinth.KindOf(err) != abi.KindNotFound {
			host.Log("warn", "the kept text of "+url+" cannot be read: "+err.Error())
		}
		return none
	}
	p := none
	if kept.Version != pageVersion || json.Unmarshal(kept.Value, &p) != nil {
		return none
	}
	return p
}

func (p *page) save() {
	encoded, err := json.Marshal(p)
	if err == nil {
		err = host.KVSet(abi.KVSet{Key: pageKey(p.url), Value: encoded, Version: pageVersion})
	}
	if err != nil {
		host.Log("warn", "the text of "+p.url+" cannot be kept: "+err.Error())
	}
}

// forgetOthers drops the pages that are not configured any more.
func forgetOthers() {
	configuredKeys := map[string]bool{}
	for _, url := range configured.URLs {
		configuredKeys[pageKey(url)] = true
	}
	listed, err := host.KVList(abi.KVList{Prefix: pagePrefix})
	for i := 0; err == nil && i < len(listed.Keys); i++ {
		if key := listed.Keys[i]; strings.HasPrefix(key, pagePrefix) && !configuredKeys[key] {
			err = host.KVDelete(abi.KVDelete{Key: key})
		}
	}
	if err != nil {
		host.Log("warn", "texts that are not configured any more cannot be dropped: "+err.Error())
	}
}
