package session

import (
	"context"
	"encoding/json"
	"time"
)

// Models answers what is known of the models that may be used.
type Models interface {
	// Model answers what is known of a model, with what its variant changes merged in.
	// A model that may not be used is a *ModelError.
	Model(ctx context.Context, ref ModelRef) (ModelInfo, error)
}

// ModelInfo is what is known of a model. Zero values are unknown. It is not changed by
// who gets it.
type ModelInfo struct {
	// Ref is the model that was asked for; its Variant is empty for the model's own.
	Ref          ModelRef
	Name         string // for people
	Context      int64  // tokens of the window
	Output       int64  // most tokens of an answer
	Price        *Price // nil: unknown, and so is every cost
	Capabilities Capabilities
	// System is what agents without a system text of their own are told; "" for nothing.
	System string

	// What its requests are made with, where nothing nearer says otherwise.
	Generation Generation
	Options    map[string]json.RawMessage // by the provider's names
	Headers    map[string]string

	// Watchdogs of a stream; 0: the runner's.
	FirstEvent time.Duration // until the first event of the answer
	Idle       time.Duration // between two events
}

// Cost answers nano-dollars for what was used, nil when the price is unknown.
func (m ModelInfo) Cost(u Usage) *int64 {
	if m.Price == nil {
		return nil
	}
	cost := m.Price.Cost(u)
	return &cost
}

// Capabilities are what a model can take and do.
type Capabilities struct {
	// Known is set when the others are told; else their false means nothing.
	Known     bool
	Tools     bool // calls of tools
	Reasoning bool // thinks before it answers
	Images    bool // in the input
	Documents bool // in the input, such as PDF
}

// VariantDefault names the model's own settings, as no variant does.
const VariantDefault = "default"

// ModelError is a model that may not be used. Its message says what to configure or
// what may be chosen.
type ModelError struct {
	Ref     ModelRef
	Reason  string // one of the Model reasons
	Message string
}

func (e *ModelError) Error() string { return e.Message }

// The reasons of a ModelError.
const (
	ModelNotSelected = "not_selected" // no model was named
	ModelUnavailable = "unavailable"  // no such provider or model, or it may not be chosen
	ModelVariant     = "variant"      // the model has no such variant
)
