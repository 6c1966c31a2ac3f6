package main

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
)

// options is the record "ollama" of a request's options.
type options struct {
	// Think switches thinking on or off, or says how much: low, medium, high.
	Think json.RawMessage `json:"think"`
	// KeepAlive is how long the model stays loaded: "10m", or seconds, -1 for ever.
	KeepAlive json.RawMessage `json:"keep_alive"`
	// NumCtx is the size of the context window in tokens. Ollama's own default is small.
	NumCtx *int64 `json:"num_ctx"`
	// Media is what the model can look at: image, or nothing; nil is image.
	Media *[]string `json:"media"`
}

// readOptions reads the record; the records of other providers are not looked at.
func readOptions(records map[string]json.RawMessage) (o options, err error) {
	record, ok := records["ollama"]
	if !ok {
		return o, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(record))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&o); err != nil {
		return o, plinth.Errorf(abi.KindInvalidInput, "options.ollama: %v; it may hold think, keep_alive, num_ctx and media", err)
	}
	switch string(o.Think) {
	case "", "true", "false", `"low"`, `"medium"`, `"high"`:
	default:
		return o, plinth.Errorf(abi.KindInvalidInput, `options.ollama.think is %s; it is true, false, "low", "medium" or "high"`, o.Think)
	}
	if len(o.KeepAlive) > 0 && o.KeepAlive[0] != '"' && o.KeepAlive[0] != '-' && (o.KeepAlive[0] < '0' || o.KeepAlive[0] > '9') {
		return o, plinth.Errorf(abi.KindInvalidInput, `options.ollama.keep_alive is %s; it is a time like "10m", or seconds`, o.KeepAlive)
	}
	if o.NumCtx != nil && *o.NumCtx < 1 {
		return o, plinth.Errorf(abi.KindInvalidInput, "options.ollama.num_ctx is %d; it must be at least 1", *o.NumCtx)
	}
	if o.Media != nil && slices.ContainsFunc(*o.Media, func(kind string) bool { return kind != "image" }) {
		return o, plinth.Errorf(abi.KindInvalidInput, "options.ollama.media is %q; there is image", *o.Media)
	}
	return o, nil
}

// images reports whether the model can look at images.
func (o options) images() bool { return o.Media == nil || len(*o.Media) > 0 }
