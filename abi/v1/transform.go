package abi

import "encoding/json"

// TransformApply is the body of plinth_transform_apply. Only the parts the
// manifest declared to read are set.
type TransformApply struct {
	Transform  string                     `json:"transform"` // the manifest's transform name
	Purpose    string                     `json:"purpose"`
	System     []TextPart                 `json:"system,omitempty"`
	Messages   []Message                  `json:"messages,omitempty"`
	Tools      []ToolDefinition           `json:"tools,omitempty"`
	Generation *Generation                `json:"generation,omitempty"`
	Options    map[string]json.RawMessage `json:"options,omitempty"`
	Headers    map[string]string          `json:"headers,omitempty"`
}

// TransformEdits is its ok.
type TransformEdits struct {
	Edits []Edit `json:"edits"`
}

// Edit changes one declared part. The host refuses an edit of a part that the
// manifest did not declare to write.
type Edit struct {
	// Part is "system", "messages", "tools", "generation", "options" or "headers".
	Part string `json:"part"`
	// Op is "append" (a new item with a new ID), "replace" or "drop" (the item ID),
	// or "set" (the field ID of generation, options or headers).
	Op    string          `json:"op"`
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Operations of an edit.
const (
	EditAppend  = "append"
	EditReplace = "replace"
	EditDrop    = "drop"
	EditSet     = "set"
)
