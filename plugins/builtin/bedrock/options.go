package main

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// options is the record "bedrock" of a request's options.
type options struct {
	// TopK goes to the model as top_k, which the protocol has no field for.
	TopK *int64 `json:"top_k"`
	// Fields are additionalModelRequestFields: what one vendor's models take.
	Fields json.RawMessage `json:"additional_model_request_fields"`
	// Guardrail is guardrailConfig.
	Guardrail json.RawMessage `json:"guardrail_config"`
	// Media is what the model can look at, of "image" and "pdf"; nil is both.
	Media *[]string `json:"media"`

	media wire.Media
}

// readOptions reads the record; the records of other providers are not looked at.
func readOptions(records map[string]json.RawMessage) (o options, err error) {
	if record, ok := records["bedrock"]; ok {
		decoder := json.NewDecoder(bytes.NewReader(record))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&o); err != nil {
			return o, plinth.Errorf(abi.KindInvalidInput, "options.bedrock: %v; it may hold top_k, additional_model_request_fields, guardrail_config and media", err)
		}
	}
	if o.TopK != nil && *o.TopK < 0 {
		return o, plinth.Errorf(abi.KindInvalidInput, "options.bedrock.top_k is %d; it is 0 or more", *o.TopK)
	}
	if o.Fields, err = object("additional_model_request_fields", o.Fields); err != nil {
		return o, err
	}
	if o.Guardrail, err = object("guardrail_config", o.Guardrail); err != nil {
		return o, err
	}
	o.media, err = wire.ReadMedia("bedrock.media", o.Media)
	return o, err
}

// object checks an option that is passed on as it is; null is none.
func object(key string, value json.RawMessage) (json.RawMessage, error) {
	switch {
	case len(value) == 0 || string(value) == "null":
		return nil, nil
	case value[0] != '{':
		return nil, plinth.Errorf(abi.KindInvalidInput, "options.bedrock.%s is %s; it is an object", key, wire.Clip(string(value)))
	}
	return value, nil
}

// uncached are models of Anthropic that are offered without a cache.
func uncached() []string {
	return []string{"claude-v2", "claude-instant", "claude-3-haiku", "claude-3-sonnet", "claude-3-opus", "claude-3-5-sonnet-20240620"}
}

// autoCache marks what models can take, which their ids tell: a model without a cache
// refuses a request with marks, and those of Amazon know none behind tools.
func autoCache(request abi.ModelRequest) wire.Cache {
	auto := wire.Auto(request.Purpose)
	switch {
	case strings.Contains(request.Model, "amazon.nova"):
		auto.Tools = false
		return auto
	case !strings.Contains(request.Model, "anthropic.claude"):
		return wire.Cache{}
	}
	for _, name := range uncached() {
		if strings.Contains(request.Model, name) {
			return wire.Cache{}
		}
	}
	return auto
}
