package protocol

import "time"

// Question waits for a person. It has one or several questions, which are answered
// together.
type Question struct {
	ID        string         `json:"id"`
	SessionID string         `json:"sessionID"`
	Questions []QuestionItem `json:"questions"`
	Agent     string         `json:"agent,omitempty"`
	Message   string         `json:"message,omitempty"`
	CallID    string         `json:"callID,omitempty"`
	Time      time.Time      `json:"time"`
	Cursor    string         `json:"cursor,omitempty"`
}

// QuestionItem is one question: a choice, a text, or both.
type QuestionItem struct {
	Header   string           `json:"header,omitempty"`
	Text     string           `json:"text"`
	Options  []QuestionOption `json:"options,omitempty"`
	Multiple bool             `json:"multiple,omitempty"` // several options may be chosen
	Custom   bool             `json:"custom,omitempty"`   // a text may be written
}

// QuestionOption is an answer to choose.
type QuestionOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// QuestionList holds the open questions, oldest first.
type QuestionList struct {
	Questions []Question `json:"questions"`
}

// QuestionAnswer answers a question: for each item the labels chosen, or the text.
// The first answer counts; a later one gets already_resolved.
type QuestionAnswer struct {
	Answers [][]string `json:"answers"`
}

// QuestionReceipt says that an answer or a dismissal was recorded.
type QuestionReceipt struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionID"`
	Dismissed bool   `json:"dismissed,omitempty"`
	Cursor    string `json:"cursor,omitempty"`
}

// TodoList is a session's list of what there is to do.
type TodoList struct {
	Todos  []Todo `json:"todos"`
	Cursor string `json:"cursor,omitempty"`
}

// Todo is an item of a session's list.
type Todo struct {
	ID       string `json:"id"`
	Content  string `json:"content"`
	Status   string `json:"status"`             // pending, in_progress, completed or cancelled
	Priority string `json:"priority,omitempty"` // high, medium or low
}
