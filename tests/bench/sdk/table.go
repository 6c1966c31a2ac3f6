package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/host/author/scaffold"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

// The lines around the table of the page. tests/docs holds the page to having a row for
// each language.
const (
	tableBegin = "<!-- figures -->\n"
	tableEnd   = "<!-- end figures -->\n"
)

const tableHead = "| language | module | compile | start | call | calls in a second |\n|---|---|---|---|---|---|\n"

// row is the tool's row.
func (r result) row(language string) string {
	return fmt.Sprintf("| %s | %s KB | %s ms | %s ms | %.0f µs | %s |\n", language, whole(r.size), short(r.compile), short(r.start), r.call, short(1e6/r.call))
}

// short has two digits, and commas between thousands: what the machine does not repeat is left out.
func short(value float64) string {
	if value <= 0 {
		return "0"
	}
	unit := math.Pow(10, math.Floor(math.Log10(value))-1)
	rounded := math.Round(value/unit) * unit
	if rounded < 10 {
		return strconv.FormatFloat(rounded, 'g', 2, 64)
	}
	return whole(rounded)
}

// whole has no digits behind the point.
func whole(value float64) string {
	digits := strconv.FormatInt(int64(math.Round(value)), 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// rewrite puts the rows into the page. Languages that were not measured keep theirs.
func rewrite(page string, rows map[string]string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("%w; run it from the root of the repository", err)
	}
	before, rest, begins := strings.Cut(string(text), tableBegin)
	old, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return fmt.Errorf("%s has no table between %q and %q", page, strings.TrimSpace(tableBegin), strings.TrimSpace(tableEnd))
	}
	var table strings.Builder
	table.WriteString(tableHead)
	for _, language := range scaffold.Languages() {
		row, ok := rows[language]
		for line := range strings.Lines(old) {
			if !ok && strings.HasPrefix(line, "| "+language+" |") {
				row = line
			}
		}
		if row == "" {
			measure.Note("%s has no row of %s", page, language)
		}
		table.WriteString(row)
	}
	return os.WriteFile(page, []byte(before+tableBegin+table.String()+tableEnd+after), 0o644)
}
