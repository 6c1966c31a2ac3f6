package expand

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/plinthhost/plinth/session"
)

// Reference is a folder or a file that the operator gave a name.
type Reference struct {
	Name string
	Path string // absolute
	// Description says what it is good for. A model is told of references that have one.
	Description string
}

// reference mentions a reference as it is now.
func (x *expansion) reference(ctx context.Context, reference Reference, m mention, source *session.PromptSource) error {
	for _, known := range x.prompt.References {
		if known.Name == reference.Name {
			return nil
		}
	}
	info, err := os.Stat(reference.Path)
	if err != nil {
		x.fail(kindReference, m.text, fmt.Sprintf("the reference %s leads to %s, which is not there", reference.Name, reference.Path), source)
		return nil
	}
	folder, resource := path.Dir(reference.Path), reference.Path
	if info.IsDir() {
		folder, resource = reference.Path, path.Join(reference.Path, "*")
	}
	checks := [][2]string{{actionRead, resource}}
	if !within(reference.Path, x.request.Session.Location.Directory) {
		checks = append(checks, [2]string{actionExternal, path.Join(folder, "*")})
	}
	for _, check := range checks {
		effect, err := x.effect(ctx, check[0], check[1])
		if err != nil {
			return err
		}
		if effect == session.Deny {
			x.fail(kindReference, m.text, denied(effect, check[0], check[1]), source)
			return nil
		}
	}
	x.prompt.References = append(x.prompt.References, session.PromptRef{
		Name: reference.Name, Path: reference.Path, Description: reference.Description, Source: source})
	return nil
}

// GuidanceKey names the context source of Guidance.
const GuidanceKey = "core/reference-guidance"

// Guidance is a context source that tells of the references with a description.
type Guidance struct{ references []Reference }

// NewGuidance tells of the references in the given order; ok is false when none has a
// description, and there is no source then.
func NewGuidance(references []Reference) (guidance Guidance, ok bool) {
	for _, reference := range references {
		if reference.Description != "" {
			guidance.references = append(guidance.references, reference)
		}
	}
	return guidance, len(guidance.references) > 0
}

// Keys is the one key.
func (Guidance) Keys() []string { return []string{GuidanceKey} }

// Observe answers the references. They are the same for every session.
func (g Guidance) Observe(context.Context, session.Observation) ([]session.SourceState, error) {
	type item struct {
		Name        string `json:"name"`
		Path        string `json:"path"`
		Description string `json:"description"`
	}
	items := make([]item, len(g.references))
	var list strings.Builder
	for i, reference := range g.references {
		items[i] = item(reference)
		fmt.Fprintf(&list, "\n- %s: %s (%s)", reference.Name, reference.Description, reference.Path)
	}
	value, err := json.Marshal(items)
	if err != nil {
		return nil, err
	}
	return []session.SourceState{{Key: GuidanceKey, State: session.SourceValue, Value: value,
		Baseline: "Outside of the project there are references, which the user may mention as @name. Read in one where its description fits what you do:" + list.String(),
		Update:   "The references have changed. This list takes the place of the one before:" + list.String(),
		Removed:  "There are no references any more; do not rely on those that were listed before.",
	}}, nil
}
