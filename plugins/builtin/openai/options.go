package main

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
)

// options is the record "openai" of a request's options.
type options struct {
	// Store asks the provider to keep the answer.
	Store *bool `json:"store"`
	// ReasoningEffort is passed on: "low", "medium", "high" and what else a model knows.
	ReasoningEffort string `json:"reasoning_effort"`
	// MaxTokensField is the field that carries the limit: "max_tokens", or
	// "max_completion_tokens", which newer models insist on.
	MaxTokensField string `json:"max_tokens_field"`
	// Media is what the model can look at, of "image" and "pdf"; nil is both.
	Media *[]string `json:"media"`
}

// Values of MaxTokensField; max_tokens is the default.
const (
	maxTokens           = "max_tokens"
	maxCompletionTokens = "max_completion_tokens"
)

// readOptions reads the record; the records of other providers are not looked at.
func readOptions(records map[string]json.RawMessage) (o options, err error) {
	record, ok := records["openai"]
	if !ok {
		return o, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(record))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&o); err != nil {
		return o, plinth.Errorf(abi.KindInvalidInput, "options.openai: %v; it may hold store, reasoning_effort, max_tokens_field and media", err)
	}
	switch o.MaxTokensField {
	case "", maxTokens, maxCompletionTokens:
	default:
		return o, plinth.Errorf(abi.KindInvalidInput, "options.openai.max_tokens_field is %q; it is max_tokens or max_completion_tokens", o.MaxTokensField)
	}
	if o.ReasoningEffort == "max" {
		return o, plinth.Errorf(abi.KindInvalidInput, "options.openai.reasoning_effort is \"max\", which Chat Completions does not know; use \"high\"")
	}
	if o.Media != nil {
		for _, kind := range *o.Media {
			if kind != kindImage && kind != kindPDF {
				return o, plinth.Errorf(abi.KindInvalidInput, "options.openai.media has %q in it; there are image and pdf", kind)
			}
		}
	}
	return o, nil
}

// The kinds of Media.
const (
	kindImage = "image"
	kindPDF   = "pdf"
)

func (o options) mediaKinds() mediaKinds {
	if o.Media == nil {
		return mediaKinds{image: true, pdf: true}
	}
	return mediaKinds{image: slices.Contains(*o.Media, kindImage), pdf: slices.Contains(*o.Media, kindPDF)}
}
