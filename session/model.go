package session

import (
	"fmt"
	"strings"
)

// String is "provider/model", with ":variant" when there is one.
func (m ModelRef) String() string {
	text := m.Provider + "/" + m.Model
	if m.Variant != "" {
		text += ":" + m.Variant
	}
	return text
}

// ParseModel reads "provider/model". A provider's name has no slash; a model's may.
func ParseModel(text string) (ModelRef, error) {
	provider, model, ok := strings.Cut(text, "/")
	if !ok || provider == "" || model == "" {
		return ModelRef{}, fmt.Errorf("%w: %q is not a model; write provider/model, for example offline/rules", ErrInvalid, clip(text))
	}
	return ModelRef{Provider: provider, Model: model}, nil
}
