package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
)

// options is the record "gemini" of a request's options.
type options struct {
	// ThinkingBudget is the most tokens of thinking: 0 for none, -1 for as the model
	// likes.
	ThinkingBudget *int64 `json:"thinking_budget"`
	// ThinkingLevel is "minimal", "low", "medium" or "high", of models that have levels
	// in place of a budget.
	ThinkingLevel string `json:"thinking_level"`
	// IncludeThoughts asks for summaries of the thinking.
	IncludeThoughts *bool `json:"include_thoughts"`
	// SafetySettings and CachedContent are passed on.
	SafetySettings []json.RawMessage `json:"safety_settings"`
	CachedContent  string            `json:"cached_content"`
	// Tools are Google's own, passed on as they are.
	Tools []json.RawMessage `json:"tools"`
	// Media is what the model can look at, of the kinds below; nil is all.
	Media *[]string `json:"media"`
}

// kinds are the first halves of the types of files, with "pdf" for that one document.
var kinds = [...]string{"image", "pdf", "audio", "video"}

// readOptions reads the record; the records of other providers are not looked at.
func readOptions(records map[string]json.RawMessage) (o options, err error) {
	record, ok := records["gemini"]
	if !ok {
		return o, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(record))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&o); err != nil {
		return o, plinth.Errorf(abi.KindInvalidInput,
			"options.gemini: %v; it may hold thinking_budget, thinking_level, include_thoughts, safety_settings, cached_content, tools and media", err)
	}
	if o.ThinkingBudget != nil && o.ThinkingLevel != "" {
		return o, plinth.Errorf(abi.KindInvalidInput, "options.gemini has thinking_budget and thinking_level; a model knows one of them")
	}
	for name, list := range map[string][]json.RawMessage{"tools": o.Tools, "safety_settings": o.SafetySettings} {
		for _, one := range list {
			if len(one) == 0 || one[0] != '{' {
				return o, plinth.Errorf(abi.KindInvalidInput, "options.gemini.%s is a list of objects", name)
			}
		}
	}
	if o.Media != nil {
		for _, kind := range *o.Media {
			if !slices.Contains(kinds[:], kind) {
				return o, plinth.Errorf(abi.KindInvalidInput, "options.gemini.media has %q in it; there are %s", kind, strings.Join(kinds[:], ", "))
			}
		}
	}
	return o, nil
}

// takes reports whether the model can look at a file. It reads no GIF.
func (o options) takes(file abi.Part) bool {
	kind, _, _ := strings.Cut(file.Mime, "/")
	switch file.Mime {
	case "image/png", "image/jpeg", "image/webp", "image/heic", "image/heif":
	case "application/pdf":
		kind = "pdf"
	default:
		if kind != "audio" && kind != "video" {
			return false
		}
	}
	return o.Media == nil || slices.Contains(*o.Media, kind)
}
