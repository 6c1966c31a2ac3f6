package docs

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// table is a table of a page. It stands between the lines "<!-- table NAME -->" and
// "<!-- end -->".
type table struct {
	head []string
	// rows have the columns that follow from the code; the first names the row.
	rows [][]string
	// written is how many further columns a person writes. None of them is empty.
	written int
}

// marked is a table in a page, with its markers.
var marked = regexp.MustCompile(`(?s)<!-- table ([^\n]+?) -->\n(.*?)<!-- end -->`)

// hold compares the tables of a page with what they must be, or makes them so. The
// page has each of them once and no other.
func hold(t *testing.T, name string, tables map[string]table) {
	t.Helper()
	p := readPage(t, name)
	missing := maps.Clone(tables)
	made := marked.ReplaceAllStringFunc(p.text, func(found string) string {
		match := marked.FindStringSubmatch(found)
		want, ok := missing[match[1]]
		if !ok {
			t.Errorf("%s: the table %q is there twice, or the code has nothing of that name; remove it", name, match[1])
			return found
		}
		delete(missing, match[1])
		return "<!-- table " + match[1] + " -->\n" + want.text(t, name+": table "+match[1], match[2]) + "<!-- end -->"
	})
	for _, missed := range slices.Sorted(maps.Keys(missing)) {
		if len(tables[missed].rows) > 0 {
			t.Errorf("%s: there is no table %q; write a heading and below it:\n<!-- table %s -->\n<!-- end -->", name, missed, missed)
		}
	}
	if made == p.text {
		return
	}
	if !*update {
		t.Errorf("%s differs from the code; run: go test ./tests/docs -update\n%s", name, cmp.Diff(p.text, made))
		return
	}
	if err := os.WriteFile(filepath.Join(root, name), []byte(made), 0o644); err != nil {
		t.Fatal(err)
	}
}

// text writes the table, with what a person wrote before in the rows of the same name.
func (w table) text(t *testing.T, where, before string) string {
	t.Helper()
	written := writtenCells(before, w.written)
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(w.head)
	b.WriteString("|" + strings.Repeat("---|", len(w.head)) + "\n")
	for _, row := range w.rows {
		cells := make([]string, 0, len(w.head))
		for _, cell := range row {
			cells = append(cells, strings.ReplaceAll(cell, "|", `\|`))
		}
		for i := range w.written {
			cell := ""
			if old := written[cells[0]]; i < len(old) {
				cell = old[i]
			}
			if cell == "" {
				t.Errorf("%s: the cell %q of %s is empty", where, w.head[len(row)+i], row[0])
			}
			cells = append(cells, cell)
		}
		if len(cells) != len(w.head) {
			t.Fatalf("%s: the row of %s has %d cells, the head has %d", where, row[0], len(cells), len(w.head))
		}
		line(cells)
	}
	return b.String()
}

// writtenCells answers the last cells of each row by the row's name.
func writtenCells(text string, last int) map[string][]string {
	found := map[string][]string{}
	for _, row := range rowsOf(text) {
		if last < len(row) {
			found[row[0]] = row[len(row)-last:]
		}
	}
	return found
}

// rowsOf answers the cells of each row below the head, as they are written.
func rowsOf(text string) (rows [][]string) {
	const bar = "\x00"
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if i < 2 || !strings.HasPrefix(line, "|") {
			continue
		}
		line = strings.ReplaceAll(strings.Trim(line, "| "), `\|`, bar)
		var cells []string
		for cell := range strings.SplitSeq(line, "|") {
			cells = append(cells, strings.ReplaceAll(strings.TrimSpace(cell), bar, `\|`))
		}
		rows = append(rows, cells)
	}
	return rows
}

// code is text as code, nothing for nothing.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// orNone is the text, or a dash for nothing.
func orNone(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

func TestTablesKeepWhatWasWritten(t *testing.T) {
	w := table{head: []string{"name", "type", "means"}, rows: [][]string{{"`a`", "x|y"}, {"`b`", "z"}}, written: 1}
	before := "| name | type | means |\n|---|---|---|\n| `b` | old | about b \\| c |\n| `gone` | z | about gone |\n| `a` | old | about a |\n"
	got := w.text(t, "test", before)
	want := "| name | type | means |\n|---|---|---|\n| `a` | x\\|y | about a |\n| `b` | z | about b \\| c |\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// mustContain reports each of the texts the page does not have.
func mustContain(t *testing.T, name string, texts ...string) {
	t.Helper()
	p := readPage(t, name)
	for _, text := range texts {
		if !strings.Contains(p.text, text) {
			t.Errorf("%s does not say %q", name, text)
		}
	}
}

// grouped writes a number with commas between thousands.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
