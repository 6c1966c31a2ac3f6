package abi

// PermissionAsk is the request of "permission.ask": may Action be done to these
// resources? What is allowed is not asked again in the rest of the call.
type PermissionAsk struct {
	Action    string   `json:"action"`    // 1 to 64 bytes
	Resources []string `json:"resources"` // 1 to 100
}

// PermissionCheck is the request of "permission.check": what would be said, without
// asking anybody.
type PermissionCheck struct {
	Action    string   `json:"action"`    // 1 to 64 bytes
	Resources []string `json:"resources"` // 1 to 1,000
}

// PermissionChecked is its ok: "allow", "ask" or "deny" for each resource.
type PermissionChecked struct {
	Effects []string `json:"effects"` // in the order of the resources
}

// QuestionAsk is the request of "question.ask": the person who follows the session
// chooses or writes.
type QuestionAsk struct {
	Questions []Question `json:"questions"` // 1 to 10
}

// Question is one of them.
type Question struct {
	Header   string           `json:"header"`             // a few words
	Text     string           `json:"text"`               // the question; at most 4 KiB
	Options  []QuestionOption `json:"options,omitempty"`  // at most 20; without any, Custom must be set
	Multiple bool             `json:"multiple,omitempty"` // several may be chosen
	// Custom lets the person write an answer of their own.
	Custom bool `json:"custom,omitempty"`
}

// QuestionOption is an answer to choose.
type QuestionOption struct {
	Label       string `json:"label"`                 // what is chosen, and answered
	Description string `json:"description,omitempty"` // more about it; may be empty
}

// QuestionAnswered is its ok: for each question the chosen labels, or the text.
type QuestionAnswered struct {
	Answers [][]string `json:"answers"` // in the order of the questions
}
