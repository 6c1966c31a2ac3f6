package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Part is one part of a request as it was sent.
type Part struct {
	Name  string // "system", "tool NAME" or, of a message, its role and place
	Bytes int    // of its JSON
}

// Parts are the tools and messages of a request, the largest first. What is left of its
// body, the model's name and the like, has the name "rest".
func (r Request) Parts() ([]Part, error) {
	var body struct {
		Messages []json.RawMessage `json:"messages"`
		Tools    []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return nil, fmt.Errorf("measure the request: %w", err)
	}
	rest := len(r.Body)
	var parts []Part
	add := func(name string, text json.RawMessage) {
		parts = append(parts, Part{Name: name, Bytes: len(text)})
		rest -= len(text)
	}
	for i, message := range body.Messages {
		var named struct{ Role string }
		if err := json.Unmarshal(message, &named); err != nil {
			return nil, fmt.Errorf("measure message %d: %w", i, err)
		}
		if i > 0 || named.Role != "system" {
			named.Role = fmt.Sprintf("%s %d", named.Role, i)
		}
		add(named.Role, message)
	}
	for i, tool := range body.Tools {
		var named struct{ Function struct{ Name string } }
		if err := json.Unmarshal(tool, &named); err != nil {
			return nil, fmt.Errorf("measure tool %d: %w", i, err)
		}
		add("tool "+named.Function.Name, tool)
	}
	parts = append(parts, Part{Name: "rest", Bytes: rest})
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return parts, nil
}
