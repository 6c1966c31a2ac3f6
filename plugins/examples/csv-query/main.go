// Command csv-query is an example of a tool: it answers questions about a CSV file of the
// session's folder, which may be far larger than what a model can read.
package main

import (
	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

// input is what the model gives. The schema that it is shown, csv-query.schema.json, is made
// of this type: plinth plugin test --update writes it.
type input struct {
	Path      string      `json:"path" doc:"The CSV file, relative to the working directory" min:"1"`
	Columns   []string    `json:"columns,omitempty" doc:"The columns to show; all when left out"`
	Where     []condition `json:"where,omitempty" doc:"Conditions on a row's cells; all must hold. Numbers compare as numbers, texts as texts"`
	GroupBy   []string    `json:"group_by,omitempty" doc:"One row for all rows that have the same cells in these columns"`
	Aggregate []aggregate `json:"aggregate,omitempty" doc:"What is told of each group, or of all rows without group_by; the answer's column is called like sum(amount)"`
	Sort      []sortKey   `json:"sort,omitempty" doc:"Columns of the answer, the most important first"`
	Limit     int         `json:"limit,omitempty" doc:"Rows of the answer; 50 when left out" min:"1" max:"1000"`
	Delimiter string      `json:"delimiter,omitempty" doc:"What separates cells; told from the first line when left out"`
}

// condition holds a row's cell to a value.
type condition struct {
	Column string `json:"column"`
	Op     string `json:"op" enum:"=,!=,<,<=,>,>=,contains,starts" doc:"contains and starts do not tell capitals from small letters"`
	Value  string `json:"value"`
}

// aggregate is one value of each group. Count needs no column.
type aggregate struct {
	Function string `json:"function" enum:"count,sum,min,max,avg"`
	Column   string `json:"column,omitempty" doc:"Left out, count counts rows; empty cells count for nothing"`
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
	Descending bool   `json:"descending,omitempty"`
}

// answer is the structured output.
type answer struct {
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
	Matched int        `json:"matched" doc:"Rows of the file that fit"`
	Groups  int        `json:"groups,omitempty" doc:"That were made of them"`
	More    bool       `json:"more,omitempty" doc:"Whether the limit cut the answer"`
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
