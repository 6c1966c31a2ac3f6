package mcp

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

const (
	// maxSchema bounds a schema in bytes, maxDepth how deep it goes, maxWeight how many
	// parts it has when every reference is followed: what holding a value to it may take.
	maxSchema = 16 << 10
	maxDepth  = 24
	maxWeight = 10_000
)

// tamer looks through the schema of a stranger.
type tamer struct {
	root    map[string]any
	weights map[string]int // of what references name; 0 while it is looked at
}

// clean answers a part of the schema with its texts cleaned.
func (t *tamer) clean(part any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is more than %d levels deep", maxDepth)
	}
	switch part := part.(type) {
	case map[string]any:
		made := make(map[string]any, len(part))
		for key, value := range part {
			if err := t.reference(key, value, depth); err != nil {
				return nil, err
			}
			if clean(key) != key {
				return nil, errors.New("a name in it has control characters")
			}
			cleaned, err := t.clean(value, depth+1)
			if err != nil {
				return nil, err
			}
			made[key] = cleaned
		}
		return made, nil
	case []any:
		made := make([]any, len(part))
		for i, value := range part {
			cleaned, err := t.clean(value, depth+1)
			if err != nil {
				return nil, err
			}
			made[i] = cleaned
		}
		return made, nil
	case string:
		return clean(part), nil
	}
	return part, nil
}

// reference refuses references that cannot be followed here.
func (t *tamer) reference(key string, value any, depth int) error {
	text, isText := value.(string)
	switch {
	case !isText:
		return nil
	case key == "$dynamicRef" || key == "$recursiveRef":
		return errors.New("it has a dynamic reference")
	case depth > 0 && (key == "$id" || key == "$schema"): // by which references would lead elsewhere
		return errors.New("a part of it has a $id or $schema of its own")
	case key == "$ref" && text != "#" && !strings.HasPrefix(text, "#/"):
		return fmt.Errorf("it refers to %.80q; put what it needs under $defs", text)
	}
	return nil
}

// weight counts the parts with all references followed, up to a little over the most.
func (t *tamer) weight(part any, depth int) int {
	sum := 1
	switch part := part.(type) {
	case map[string]any:
		for key, value := range part {
			if text, ok := value.(string); ok && key == "$ref" {
				sum += t.target(text, depth)
			} else {
				sum += t.weight(value, depth+1)
			}
			if sum > maxWeight {
				return sum
			}
		}
	case []any:
		for _, value := range part {
			if sum += t.weight(value, depth+1); sum > maxWeight {
				return sum
			}
		}
	}
	return sum
}

// target is the weight of what a reference names. One that leads back to itself counts
// once: the value that it is held to has an end.
func (t *tamer) target(pointer string, depth int) int {
	if known, ok := t.weights[pointer]; ok {
		return known
	}
	if depth > 200 {
		return maxWeight + 1
	}
	if t.weights == nil {
		t.weights = map[string]int{}
	}
	t.weights[pointer] = 0
	found := maxWeight + 1 // also where it names nothing: that does not compile
	if part, ok := t.at(pointer); ok {
		found = t.weight(part, depth+1)
	}
	t.weights[pointer] = found
	return found
}

// at is what a JSON pointer names.
func (t *tamer) at(pointer string) (part any, ok bool) {
	path, err := url.PathUnescape(strings.TrimPrefix(pointer, "#"))
	if err != nil {
		return nil, false
	}
	part = t.root
	if path == "" {
		return part, true
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch whole := part.(type) {
		case map[string]any:
			part, ok = whole[step]
		case []any:
			n, err := strconv.Atoi(step)
			if ok = err == nil && n >= 0 && n < len(whole); ok {
				part = whole[n]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return part, true
}
