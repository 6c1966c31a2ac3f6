package plugin

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// lines tells where in a manifest the keys stand, counted from 1. Paths are like
// "tool[1].name"; a table stands where its header does.
type lines map[string]int

// linesOf reads text that has been decoded, so it is TOML.
func linesOf(text []byte) lines {
	found := lines{}
	tables := map[string]int{} // arrays of tables, how many of each
	parser := unstable.Parser{}
	parser.Reset(text)
	table := ""
	for parser.NextExpression() {
		expression := parser.Expression()
		var path string
		line := 0
		if expression.Kind == unstable.KeyValue {
			path = table
		}
		for key := expression.Key(); key.Next(); {
			if count := tables[path]; count > 0 {
				path = fmt.Sprintf("%s[%d]", path, count-1)
			}
			path = strings.TrimPrefix(path+"."+string(key.Node().Data), ".")
			line = parser.Shape(key.Node().Raw).Start.Line
		}
		switch expression.Kind {
		case unstable.ArrayTable:
			tables[path]++
			table = fmt.Sprintf("%s[%d]", path, tables[path]-1)
			found[table] = line
		case unstable.Table:
			table = path
			found[table] = line
		default:
			found[path] = line
		}
	}
	return found
}

var indexes = regexp.MustCompile(`\[\d+\]`)

// withoutIndexes is a path as a person says it: "tool.name".
func withoutIndexes(path string) string { return indexes.ReplaceAllString(path, "") }

// of answers the line of a path, or of the nearest table around it; 0 when there is
// none.
func (l lines) of(path string) int {
	for path != "" {
		for _, spelling := range []string{path, withoutIndexes(path)} { // [tool] may stand for the only [[tool]]
			if line := l[spelling]; line > 0 {
				return line
			}
		}
		path = path[:max(strings.LastIndexByte(path, '.'), 0)]
	}
	return 0
}
