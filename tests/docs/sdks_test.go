package docs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/host/author/scaffold"
)

// The page of the SDKs has the figures of every language that a plugin can be made in.
// make bench-sdk measures and writes them.
func TestFiguresOfTheSDKs(t *testing.T) {
	const name = "docs/reference/sdks.md"
	_, rest, begins := strings.Cut(readPage(t, name).text, "<!-- figures -->\n")
	table, _, ends := strings.Cut(rest, "<!-- end figures -->\n")
	if !begins || !ends {
		t.Fatalf("%s has no table of figures", name)
	}
	number := regexp.MustCompile(`^[0-9][0-9.,]*( (KB|ms|µs))?$`)
	rows := map[string][]string{}
	for _, row := range rowsOf(table) {
		rows[row[0]] = row[1:]
	}
	for _, language := range scaffold.Languages() {
		row := rows[language]
		if len(row) != 5 {
			t.Errorf("%s has no figures of %s; run make bench-sdk where its compiler is", name, language)
		}
		for _, cell := range row {
			if !number.MatchString(cell) {
				t.Errorf("%s: %s: %q is no figure", name, language, cell)
			}
		}
		delete(rows, language)
	}
	if len(rows) > 0 {
		t.Errorf("%s has rows of no language: %v", name, rows)
	}
}
