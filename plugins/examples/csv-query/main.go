// Command csv-query is an example of a tool: it answers questions about a CSV file of the
// session's folder, which may be far larger than what a model can read.
package main

import (
	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

// input is what the model gives. csv-query.schema.json says the same to it.
type input struct {
	Path      string      `json:"path"`
	Columns   []string    `json:"columns"` // all when empty
	Where     []condition `json:"where"`   // all must hold
	GroupBy   []string    `json:"group_by"`
	Aggregate []aggregate `json:"aggregate"`
	Sort      []sortKey   `json:"sort"`
	Limit     int         `json:"limit"`     // rows; defaultLimit when 0
	Delimiter string      `json:"delimiter"` // told from the first line when empty
}

// condition holds a row's cell to a value.
type condition struct {
	Column string `json:"column"`
	Op     string `json:"op"`
	Value  string `json:"value"`
}

// aggregate is one value of each group. Count needs no column.
type aggregate struct {
	Function string `json:"function"`
	Column   string `json:"column"`
}

// name is the column of the answer that has it.
func (a aggregate) name() string {
	if a.Column == "" {
		return a.Function
	}
	return a.Function + "(" + a.Column + ")"
}

// sortKey is a column of the answer.
type sortKey struct {
	Column     string `json:"column"`
	Descending bool   `json:"descending"`
}

// answer is the structured output.
type answer struct {
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
	// Matched counts the rows of the file that fit where, Groups those that were made of
	// them; more than Rows when the limit cut them.
	Matched int  `json:"matched"`
	Groups  int  `json:"groups,omitempty"`
	More    bool `json:"more,omitempty"`
}

// Limits of a query.
const (
	defaultLimit = 50
	maxLimit     = 1000
	maxKept      = 8 << 20 // bytes of cells that are kept for sorting, and of groups
)

func init() { tool.Register("csv-query", run) }

func main() {}

func run(_ tool.Call, in input) (tool.Output, error) {
	switch {
	case in.Limit < 0 || in.Limit > maxLimit:
		return tool.Output{}, invalid("limit is %d; it must be from 1 to %d", in.Limit, maxLimit)
	case in.Limit == 0:
		in.Limit = defaultLimit
	}
	rows, err := open(in.Path, in.Delimiter)
	if err != nil {
		return tool.Output{}, err
	}
	query, err := plan(in, rows.header)
	if err != nil {
		return tool.Output{}, err
	}
	answer, err := query.run(rows)
	if err != nil {
		return tool.Output{}, err
	}
	return tool.Output{Text: answer.text(), Structured: answer, Title: rows.name}, nil
}

// invalid is an error that the model can correct.
func invalid(format string, args ...any) error {
	return plinth.Errorf(abi.KindInvalidInput, format, args...)
}
