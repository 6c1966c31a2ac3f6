package abi

import "encoding/json"

// TransformApply is the body of plinth_transform_apply. Only the parts the
// manifest declared to read are set.
type TransformApply struct {
	Transform string `json:"transform"` // the manifest's transform name
	Purpose   string `json:"purpose"`   // "turn", "compaction" or "title"
	// Agent is what the session works as, or the agent that the host asks for itself,
	// like title.
	Agent      string                     `json:"agent,omitempty"`
	System     []TextPart                 `json:"system,omitempty"`     // the parts of the system text, in their order
	Messages   []Message                  `json:"messages,omitempty"`   // the oldest first
	Tools      []ToolDefinition           `json:"tools,omitempty"`      // those the model may call
	Generation *Generation                `json:"generation,omitempty"` // how it is to answer
	Options    map[string]json.RawMessage `json:"options,omitempty"`    // the provider's own, by name
	Headers    map[string]string          `json:"headers,omitempty"`    // that go with the request, without the secret
}

// TransformEdits is its ok.
type TransformEdits struct {
	Edits []Edit `json:"edits"` // made in their order; none leaves the request as it is
}

// Edit changes one declared part. The host refuses an edit of a part that the
// manifest did not declare to write.
type Edit struct {
	// Part is "system", "messages", "tools", "generation", "options" or "headers".
	Part string `json:"part"`
	// Op is "append" (a new system part), "replace" (the text of a system part or of
	// a message's part, the description of a tool), "drop" (a system part, a tool) or
	// "set" (a field of generation, options or headers).
	Op string `json:"op"`
	// ID is the part's id, the tool's name, or the field's name.
	ID string `json:"id"`
	// Value is a text for append and replace, the field's value for set.
	Value json.RawMessage `json:"value,omitempty"`
}

// Operations of an edit.
const (
	EditAppend  = "append"
	EditReplace = "replace"
	EditDrop    = "drop"
	EditSet     = "set"
)
