package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// options is the record "anthropic" of a request's options.
type options struct {
	Thinking *thinking `json:"thinking"`
	// Effort is passed on: "low", "medium", "high" and what else a model knows.
	Effort string `json:"effort"`
	// MaxTokens bounds the answer where the request does not.
	MaxTokens *int64 `json:"max_tokens"`
	// Betas are sent in the header anthropic-beta.
	Betas []string `json:"betas"`
	// Tools are those that Anthropic runs, as its documentation writes them.
	Tools []json.RawMessage `json:"tools"`
	// NativeSystem are the models that know messages of the role system; nil is those
	// of defaultNative. A name holds for the model's dated versions too.
	NativeSystem *[]string `json:"native_system"`
	// Media is what the model can look at, of "image" and "pdf"; nil is both.
	Media *[]string `json:"media"`

	media wire.Media
}

// thinking is what the request says of extended thinking.
type thinking struct {
	Type         string `json:"type"`          // "enabled", "disabled" or "adaptive"
	BudgetTokens int64  `json:"budget_tokens"` // of "enabled", and of nothing else
	Display      string `json:"display"`       // "summarized" or "omitted"; as the model has it
}

const (
	thinkingEnabled  = "enabled"
	thinkingDisabled = "disabled"
	thinkingAdaptive = "adaptive"

	minBudget = 1024 // tokens, as the API has it

	// answerTokens bounds an answer that nothing else bounds; a thinking budget is
	// beside it. The protocol insists on a number, and what is less loses files that a
	// model writes.
	answerTokens = 8192
)

func defaultNative() []string { return []string{"claude-opus-4-8"} }

// readOptions reads the record; the records of other providers are not looked at.
func readOptions(records map[string]json.RawMessage) (o options, err error) {
	if record, ok := records["anthropic"]; ok {
		decoder := json.NewDecoder(bytes.NewReader(record))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&o); err != nil {
			return o, plinth.Errorf(abi.KindInvalidInput, "options.anthropic: %v; it may hold thinking, effort, max_tokens, betas, tools, native_system and media", err)
		}
	}
	if err := o.check(); err != nil {
		return o, err
	}
	o.media, err = wire.ReadMedia("anthropic.media", o.Media)
	return o, err
}

func (o options) check() error {
	if o.MaxTokens != nil && *o.MaxTokens < 1 {
		return plinth.Errorf(abi.KindInvalidInput, "options.anthropic.max_tokens is %d; it is at least 1", *o.MaxTokens)
	}
	for _, beta := range o.Betas {
		if beta == "" || strings.ContainsFunc(beta, func(c rune) bool { return c <= ' ' || c > '~' || c == ',' }) {
			return plinth.Errorf(abi.KindInvalidInput, "options.anthropic.betas has %q in it; a beta is a name like context-1m-2025-08-07", beta)
		}
	}
	for _, tool := range o.Tools {
		if !isServerTool(tool) {
			return plinth.Errorf(abi.KindInvalidInput, "options.anthropic.tools: each is an object with a type and a name, like %s",
				`{"type":"web_search_20250305","name":"web_search"}`)
		}
	}
	return o.Thinking.check()
}

func isServerTool(tool json.RawMessage) bool {
	var kind, name string
	r := jsonscan.NewReader(tool)
	if r.Kind() != '{' {
		return false
	}
	for r.Object(); ; {
		key, ok := r.Next()
		switch {
		case !ok:
			return r.End() && kind != "" && name != ""
		case key == "type":
			kind = r.String()
		case key == "name":
			name = r.String()
		default:
			r.Skip()
		}
	}
}

func (t *thinking) check() error {
	if t == nil {
		return nil
	}
	switch {
	case t.Type != thinkingEnabled && t.Type != thinkingDisabled && t.Type != thinkingAdaptive:
		return plinth.Errorf(abi.KindInvalidInput, "options.anthropic.thinking.type is %q; it is enabled, disabled or adaptive", t.Type)
	case t.Type == thinkingEnabled && t.BudgetTokens < minBudget:
		return plinth.Errorf(abi.KindInvalidInput, "options.anthropic.thinking.budget_tokens is %d; enabled thinking needs at least %d", t.BudgetTokens, minBudget)
	case t.Type != thinkingEnabled && t.BudgetTokens != 0:
		return plinth.Errorf(abi.KindInvalidInput, "options.anthropic.thinking.budget_tokens is for enabled thinking; remove it, or set type to enabled")
	case t.Display != "" && (t.Type == thinkingDisabled || t.Display != "summarized" && t.Display != "omitted"):
		return plinth.Errorf(abi.KindInvalidInput, "options.anthropic.thinking.display is %q; it is summarized or omitted, and not for disabled thinking", t.Display)
	}
	return nil
}

// native reports whether the model knows messages of the role system.
func (o options) native(model string) bool {
	names := defaultNative()
	if o.NativeSystem != nil {
		names = *o.NativeSystem
	}
	return slices.ContainsFunc(names, func(name string) bool {
		rest, ok := strings.CutPrefix(model, name)
		return ok && (rest == "" || isDate(rest))
	})
}

// isDate reports whether a name goes on with a version like -20260416.
func isDate(rest string) bool {
	digits, ok := strings.CutPrefix(rest, "-")
	return ok && len(digits) == 8 && strings.Trim(digits, "0123456789") == ""
}

// limit is the most tokens of the answer. A thinking budget has to fit below it.
func (o options) limit(asked *int64) (int64, error) {
	budget := int64(0)
	if o.Thinking != nil {
		budget = o.Thinking.BudgetTokens
	}
	if asked == nil {
		asked = o.MaxTokens
	}
	switch {
	case asked == nil:
		return budget + answerTokens, nil
	case *asked <= budget:
		return 0, plinth.Errorf(abi.KindInvalidInput, "options.anthropic.thinking.budget_tokens is %d, and the whole answer may have %d tokens; make max_tokens larger than the budget", budget, *asked)
	}
	return *asked, nil
}
