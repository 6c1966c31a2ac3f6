package main

import (
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
	"github.com/plinthhost/plinth/sdk-plugins/go/schema"
)

// The schema files are made of the types.
func TestSchemas(t *testing.T) {
	plinthtest.Schemas(t, map[string][]byte{"csv-query.schema.json": schema.Of[input](), "answer.schema.json": schema.Of[answer]()})
}

const people = "name,age,city\nAnn,30,Oslo\nBob,4,Rome\nCy,,Oslo\nDee,12.50,oslo\n"

// ask asks the tool about a file's text and answers what it gives.
func ask(t *testing.T, text string, in map[string]any) (abi.ToolOutput, *plinthtest.Host, error) {
	t.Helper()
	files := &plinthtest.Host{Roots: map[string]fs.FS{"location": fstest.MapFS{"a.csv": {Data: []byte(text)}}}}
	files.Serve(t)
	all := map[string]any{"path": "a.csv"}
	maps.Copy(all, in)
	output, err := plinthtest.Call[abi.ToolOutput](t, abi.ExportTool, map[string]any{"tool": "csv-query", "input": all})
	return output, files, err
}

func where(column, op, value string) []any {
	return []any{map[string]any{"column": column, "op": op, "value": value}}
}

func TestQueries(t *testing.T) {
	type in = map[string]any
	for _, test := range []struct {
		name string
		text string
		in   in
		want string // the text, its last line without parentheses
	}{
		{"all", people, nil, "name | age | city\nAnn | 30 | Oslo\nBob | 4 | Rome\nCy |  | Oslo\nDee | 12.50 | oslo\n4 rows"},
		{"columns in another order", people, in{"columns": []string{"city", "name"}, "limit": 1}, "city | name\nOslo | Ann\n1 of 4 rows; raise limit, or narrow by where"},
		{"numbers are compared as numbers", people, in{"columns": []string{"name"}, "where": where("age", "<", "12.5")}, "name\nBob\n1 row"},
		{"and equal as numbers", people, in{"columns": []string{"name"}, "where": where("age", "=", "12.5")}, "name\nDee\n1 row"},
		{"texts are compared as texts", people, in{"columns": []string{"name"}, "where": where("city", ">=", "Rome")}, "name\nBob\nDee\n2 rows"},
		{"not equal", people, in{"columns": []string{"name"}, "where": where("city", "!=", "Oslo")}, "name\nBob\nDee\n2 rows"},
		{"starts, in capitals", people, in{"columns": []string{"name"}, "where": where("city", "starts", "OS")}, "name\nAnn\nCy\nDee\n3 rows"},
		{"all conditions hold", people, in{"columns": []string{"name"}, "where": append(where("city", "contains", "os"), where("age", ">", "10")...)}, "name\nAnn\nDee\n2 rows"},
		{"sorted by numbers, then what is none", people, in{"columns": []string{"name", "age"}, "sort": []any{in{"column": "age"}}},
			"name | age\nBob | 4\nDee | 12.50\nAnn | 30\nCy | \n4 rows"},
		{"sorted down, and still what is none last", people, in{"columns": []string{"name", "age"}, "sort": []any{in{"column": "age", "descending": true}}},
			"name | age\nAnn | 30\nDee | 12.50\nBob | 4\nCy | \n4 rows"},
		{"sorted down by two", people, in{"columns": []string{"city", "name"}, "sort": []any{in{"column": "city", "descending": true}, in{"column": "name", "descending": true}}, "limit": 2},
			"city | name\noslo | Dee\nRome | Bob\n2 of 4 rows; raise limit, or narrow by where"},
		{"groups", people, in{"group_by": []string{"city"}, "aggregate": []any{in{"function": "count"}, in{"function": "count", "column": "age"}, in{"function": "min", "column": "name"}}, "limit": 2},
			"city | count | count(age) | min(name)\nOslo | 2 | 1 | Ann\nRome | 1 | 1 | Bob\n2 of 3 groups, made of 4 rows; raise limit, or narrow by where"},
		{"groups alone are counted", people, in{"group_by": []string{"city"}, "where": where("city", "=", "Rome")}, "city | count\nRome | 1\n1 group, made of 1 row"},
		{"of all rows", people, in{"aggregate": []any{in{"function": "sum", "column": "age"}, in{"function": "avg", "column": "age"}, in{"function": "max", "column": "age"}}},
			"sum(age) | avg(age) | max(age)\n46.5 | 15.5 | 30\n1 group, made of 4 rows"},
		{"sums are decimal", "n\n0.1\n0.2\n", in{"aggregate": []any{in{"function": "sum", "column": "n"}}}, "sum(n)\n0.3\n1 group, made of 2 rows"},
		{"nothing fits", people, in{"columns": []string{"name"}, "where": where("name", "=", "Zoe")}, "name\n0 rows"},
		{"a semicolon", "a;b\n1,5;2\n", nil, "a | b\n1,5 | 2\n1 row"},
		{"a tab that is said", "a,x\tb\n1\t2\n", in{"delimiter": `\t`}, "a,x | b\n1 | 2\n1 row"},
		{"a byte order mark, and line ends of Windows", "\ufeffa,b\r\n1,2\r\n", in{"where": where("a", "=", "1")}, "a | b\n1 | 2\n1 row"},
		{"a cell of several lines", "a\n\"1\n2\"\n", nil, "a\n1 2\n1 row"},
		{"a long cell", "a\n" + strings.Repeat("ä", 150) + "\n", nil, "a\n" + strings.Repeat("ä", 100) + "…\n1 row"},
		{"cells that join to the same", "a,b\n1:1,\n1,:1\n", in{"group_by": []string{"a", "b"}}, "a | b | count\n1:1 |  | 1\n1 | :1 | 1\n2 groups, made of 2 rows"},
		{"a header alone", "a,b", nil, "a | b\n0 rows"},
	} {
		output, _, err := ask(t, test.text, test.in)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := strings.NewReplacer("\n(", "\n", ")$", "").Replace(strings.TrimSuffix(output.Content[0].Text, ")")); got != test.want {
			t.Errorf("%s:\ngot  %q\nwant %q", test.name, got, test.want)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	type in = map[string]any
	for _, test := range []struct {
		name, text string
		in         in
		want       string
	}{
		{"no path", people, in{"path": ""}, "invalid_input: path is empty"},
		{"no file", people, in{"path": "b.csv"}, "not_found: "},
		{"an empty file", "", nil, "invalid_input: a.csv is empty"},
		{"an unknown column", people, in{"columns": []string{"Name"}}, `there is no column "Name"; there are name, age, city`},
		{"an unknown column of the answer", people, in{"columns": []string{"name"}, "sort": []any{in{"column": "age"}}}, `there is no column "age"; there are name`},
		{"an unknown operator", people, in{"where": where("age", "~", "1")}, `where[0].op is "~"; it is one of =, !=, <, <=, >, >=, contains, starts`},
		{"an unknown function", people, in{"aggregate": []any{in{"function": "median", "column": "age"}}}, `aggregate[0].function is "median"; it is one of count, sum, min, max, avg`},
		{"a sum of nothing", people, in{"aggregate": []any{in{"function": "sum"}}}, "aggregate[0] has no column; sum needs one"},
		{"columns of groups", people, in{"columns": []string{"name"}, "group_by": []string{"city"}}, "columns and group_by stand beside each other"},
		{"a sum of texts", people, in{"aggregate": []any{in{"function": "sum", "column": "city"}}}, `a.csv line 2: "Oslo" in city is no number, which sum needs`},
		{"a short row", "a,b\n1,2\n3\n", nil, "a.csv line 3 has another number of cells than the header"},
		{"a quote that does not end", "a\n\"1\n", nil, "a.csv line 2: extraneous or missing"},
		{"too many rows", people, in{"limit": 1001}, "limit is 1001; it must be from 1 to 1000"},
		{"a delimiter of two", people, in{"delimiter": "::"}, `delimiter is "::"; it must be one character`},
		{"an unknown field", people, in{"order": "age"}, `unknown field "order"`},
	} {
		_, _, err := ask(t, test.text, test.in)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// A large file is read in pieces, and cells that a piece ends in are whole.
func TestALargeFileIsReadInPieces(t *testing.T) {
	var text strings.Builder
	text.WriteString("n,name\n")
	const rows = 200_000
	for i := range rows {
		fmt.Fprintf(&text, "%d,\"row %d\"\n", i, i)
	}
	output, files, err := ask(t, text.String(), map[string]any{"aggregate": []any{
		map[string]any{"function": "sum", "column": "n"}, map[string]any{"function": "count"}, map[string]any{"function": "max", "column": "name"}}})
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%d | %d | row 99999\n", rows*(rows-1)/2, rows); !strings.Contains(output.Content[0].Text, want) {
		t.Errorf("%s, want %s", output.Content[0].Text, want)
	}
	if want := (text.Len() + pieceBytes - 1) / pieceBytes; len(files.Asked) != want || files.ReadBytes != int64(text.Len()) {
		t.Errorf("%d pieces with %d bytes, want %d with %d", len(files.Asked), files.ReadBytes, want, text.Len())
	}
}

// What would not fit the memory is refused with what to do.
func TestTheLimitsBite(t *testing.T) {
	cell := strings.Repeat("x", 10_000)
	var text strings.Builder
	text.WriteString("a\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "%d%s\n", i, cell)
	}
	for want, in := range map[string]map[string]any{
		"more than 8 MiB of rows fit; narrow them by where, or by columns": {"sort": []any{map[string]any{"column": "a"}}},
		"groups; group by less, or narrow the rows by where":               {"group_by": []string{"a"}},
	} {
		if _, _, err := ask(t, text.String(), in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, _, err := ask(t, text.String(), nil); err != nil {
		t.Errorf("rows that are not kept: %v", err)
	}
}

func TestStructuredOutput(t *testing.T) {
	output, _, err := ask(t, people, map[string]any{"columns": []string{"name"}, "limit": 1})
	if err != nil || output.Title != "a.csv" || string(output.Structured) != `{"columns":["name"],"rows":[["Ann"]],"matched":4,"more":true}` {
		t.Errorf("%v %s %s", err, output.Title, output.Structured)
	}
}
