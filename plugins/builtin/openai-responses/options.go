package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// options is the record "openai" of a request's options.
type options struct {
	// Store asks the provider to keep the answer; history then names what is kept.
	Store bool `json:"store"`
	// Reasoning is passed on.
	Reasoning struct {
		Effort  string `json:"effort"`  // "low", "medium", "high" and what else a model knows
		Summary string `json:"summary"` // "auto", "concise" or "detailed"
	} `json:"reasoning"`
	// TextVerbosity is "low", "medium" or "high".
	TextVerbosity string `json:"text_verbosity"`
	// ServiceTier is "auto", "default", "flex" or "priority".
	ServiceTier string `json:"service_tier"`
	// Include is what else the answer shall hold; nil is the encrypted reasoning, of
	// models that reason and answers that are not stored.
	Include *[]string `json:"include"`
	// Tools are OpenAI's own, passed on as they are.
	Tools []json.RawMessage `json:"tools"`
	// Media is what the model can look at, of "image" and "pdf"; nil is both.
	Media *[]string `json:"media"`

	takes wire.Media
}

// encryptedReasoning is the part of an answer by which a model goes on with its
// reasoning although the provider keeps nothing.
const encryptedReasoning = "reasoning.encrypted_content"

// readOptions reads the record; the records of other providers are not looked at.
func readOptions(records map[string]json.RawMessage) (o options, err error) {
	if record, ok := records["openai"]; ok {
		decoder := json.NewDecoder(bytes.NewReader(record))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&o); err != nil {
			return o, plinth.Errorf(abi.KindInvalidInput,
				"options.openai: %v; it may hold store, reasoning, text_verbosity, service_tier, include, tools and media", err)
		}
	}
	if err := known("text_verbosity", o.TextVerbosity, "low", "medium", "high"); err != nil {
		return o, err
	}
	if err := known("service_tier", o.ServiceTier, "auto", "default", "flex", "priority"); err != nil {
		return o, err
	}
	if err := known("reasoning.summary", o.Reasoning.Summary, "auto", "concise", "detailed"); err != nil {
		return o, err
	}
	for _, tool := range o.Tools {
		if len(tool) == 0 || tool[0] != '{' {
			return o, plinth.Errorf(abi.KindInvalidInput, "options.openai.tools is a list of objects, like {\"type\":\"web_search\"}")
		}
	}
	o.takes, err = wire.ReadMedia("openai.media", o.Media)
	return o, err
}

// known refuses a value that is not one of a field's; empty is none.
func known(field, value string, values ...string) error {
	if value == "" || slices.Contains(values, value) {
		return nil
	}
	return plinth.Errorf(abi.KindInvalidInput, "options.openai.%s is %q; it is one of %s", field, value, strings.Join(values, ", "))
}

// include is what the answer shall hold. OpenAI refuses the request when a model that
// does not reason is asked for its encrypted reasoning.
func (o options) include(model string) []string {
	switch {
	case o.Include != nil:
		return *o.Include
	case o.Store || !reasons(model):
		return nil
	}
	return []string{encryptedReasoning}
}

// reasons reports whether a model may reason, by its name: those of OpenAI that do not
// are known.
func reasons(model string) bool {
	model = model[strings.LastIndexByte(model, '/')+1:]
	for _, plain := range []string{"gpt-3", "gpt-4", "chatgpt-"} {
		if strings.HasPrefix(model, plain) {
			return false
		}
	}
	return !strings.Contains(model, "-chat")
}
