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

// maxModelBytes bounds each part of a model's name.
const maxModelBytes = 256

// check refuses a model without a provider or a name.
func (m ModelRef) check(field string) error {
	if m.Provider == "" || m.Model == "" {
		return fmt.Errorf("%w: %s needs provider and model", ErrInvalid, field)
	}
	if n := max(len(m.Provider), len(m.Model), len(m.Variant)); n > maxModelBytes {
		return fmt.Errorf("%w: %s has a part of %d bytes, the limit is %d", ErrInvalid, field, n, maxModelBytes)
	}
	return nil
}
