package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// listed is one model as servers list it. They agree on nothing but that there is a
// name, so every place is looked at where a known server puts what we want.
type listed struct {
	ID    loose[string] `json:"id"`    // OpenAI and most
	Model loose[string] `json:"model"` // Ollama
	Name  loose[string] `json:"name"`  // the same in Ollama and Gemini; for people in OpenRouter
	Label loose[string] `json:"display_name"`

	LoadedContext tokens `json:"loaded_context_length"` // LM Studio, as it runs now
	MaxModelLen   tokens `json:"max_model_len"`         // vLLM
	ContextLength tokens `json:"context_length"`        // OpenRouter
	ContextWindow tokens `json:"context_window"`        // Groq
	MaxContext    tokens `json:"max_context_length"`    // LM Studio, Mistral
	InputLimit    tokens `json:"inputTokenLimit"`       // Gemini
	MaxInput      tokens `json:"max_input_tokens"`      // Anthropic
	Meta          loose[struct {
		Context      tokens `json:"n_ctx"`       // as it runs now
		TrainContext tokens `json:"n_ctx_train"` // at most
	}] `json:"meta"` // llama.cpp

	MaxCompletion tokens `json:"max_completion_tokens"` // Groq
	OutputLimit   tokens `json:"outputTokenLimit"`      // Gemini
	MaxTokens     tokens `json:"max_tokens"`            // Anthropic
	TopProvider   loose[struct {
		MaxCompletion tokens `json:"max_completion_tokens"`
	}] `json:"top_provider"` // OpenRouter
}

// loose is a value that counts as none where it is of another type.
type loose[T any] struct{ is T }

// UnmarshalJSON takes any value.
func (l *loose[T]) UnmarshalJSON(data []byte) error {
	var value T
	if json.Unmarshal(data, &value) == nil {
		l.is = value
	}
	return nil
}

// tokens is a number of tokens; anything else counts as none.
type tokens int64

// maxTokens is more than any model's window has, in tokens.
const maxTokens = 1 << 40

// UnmarshalJSON takes any value.
func (n *tokens) UnmarshalJSON(data []byte) error {
	var number int64
	if json.Unmarshal(data, &number) == nil && 0 < number && number <= maxTokens {
		*n = tokens(number)
	}
	return nil
}

func first[T comparable](values ...T) T {
	var zero T
	for _, value := range values {
		if value != zero {
			return value
		}
	}
	return zero
}

// found is a model in an answer.
type found struct {
	name     string
	override Override
}

// parseAnswer answers the models of a list as OpenAI has it, and those who follow it
// ({"data": […]}), as Ollama has it ({"models": […]}), or alone.
func parseAnswer(answer []byte) (models []found, err error) {
	if len(answer) > MaxAnswer {
		return nil, fmt.Errorf("the answer has more than %d bytes", MaxAnswer)
	}
	var lists struct {
		Data   []json.RawMessage `json:"data"`
		Models []json.RawMessage `json:"models"`
	}
	if bytes.HasPrefix(bytes.TrimSpace(answer), []byte("[")) {
		err = json.Unmarshal(answer, &lists.Data)
	} else {
		err = json.Unmarshal(answer, &lists)
	}
	if err != nil {
		return nil, errors.New("the answer is not a list of models in JSON; is the base URL that of an API?")
	}
	list := lists.Data
	if list == nil {
		list = lists.Models
	}
	if list == nil {
		return nil, errors.New(`the answer has no list "data" and none "models"; is the base URL that of an API?`)
	}
	for _, one := range list {
		if name, override, ok := parseListed(one); ok {
			models = append(models, found{name, override})
		}
	}
	return models, nil
}

// parseListed reads one model; ok is false for what has no usable name.
func parseListed(one json.RawMessage) (name string, override Override, ok bool) {
	var l listed
	if json.Unmarshal(one, &l) != nil {
		return "", Override{}, false
	}
	name = strings.TrimPrefix(first(l.ID.is, l.Model.is, l.Name.is), "models/") // Gemini
	if !usable(name) {
		return "", Override{}, false
	}
	override.Context = int64(first(l.LoadedContext, l.MaxModelLen, l.ContextLength, l.ContextWindow, l.MaxContext,
		l.Meta.is.Context, l.Meta.is.TrainContext, l.InputLimit, l.MaxInput))
	override.Output = int64(first(l.MaxCompletion, l.TopProvider.is.MaxCompletion, l.OutputLimit, l.MaxTokens))
	if label := first(l.Label.is, l.Name.is); usable(label) && strings.TrimPrefix(label, "models/") != name {
		override.Name = label
	}
	return name, override, true
}

// usable reports whether a server's text can be shown and kept.
func usable(text string) bool {
	return text != "" && len(text) <= 256 && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar })
}
