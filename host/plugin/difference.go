package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Difference is one place where JSON is not what was recorded.
type Difference struct {
	Path string // for example "ok.content[0].text"; empty for the whole
	// Got and Want are JSON; nil where there is nothing.
	Got, Want json.RawMessage
}

func (d Difference) String() string {
	path := d.Path
	if path == "" {
		path = "(all of it)"
	}
	got, want := d.Shown()
	return fmt.Sprintf("%s: got %s, want %s", path, got, want)
}

// maxShown bounds how much of a value a difference shows.
const maxShown = 120

// Shown are both values, from where they part when they are long.
func (d Difference) Shown() (got, want string) {
	same := 0
	for same < min(len(d.Got), len(d.Want)) && d.Got[same] == d.Want[same] {
		same++
	}
	from := 0
	if max(len(d.Got), len(d.Want)) > maxShown {
		from = max(0, same-maxShown/3)
	}
	return window(d.Got, from), window(d.Want, from)
}

func window(value json.RawMessage, from int) string {
	switch {
	case value == nil:
		return "nothing"
	case from >= len(value):
		return strconv.Quote(string(value)) + " and no more"
	}
	text, before, after := string(value[from:]), "", ""
	if from > 0 {
		before = "…"
	}
	if len(text) > maxShown {
		text, after = text[:maxShown], "…"
	}
	return before + strings.ToValidUTF8(text, "") + after
}

// maxDifferences bounds how many are told of one comparison.
const maxDifferences = 20

// compareJSON answers where got is not want. Numbers are compared by value. Both
// must be JSON.
func compareJSON(path string, got, want []byte) ([]Difference, error) {
	left, err := decodeNumbers(got)
	if err != nil {
		return nil, err
	}
	right, err := decodeNumbers(want)
	if err != nil {
		return nil, err
	}
	c := comparison{}
	c.values(path, left, right)
	return c.found, nil
}

func decodeNumbers(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

type comparison struct{ found []Difference }

// absent stands for a member that is not there.
type absent struct{}

func (c *comparison) values(path string, got, want any) {
	switch want := want.(type) {
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			c.objects(path, got, want)
			return
		}
	case []any:
		if got, ok := got.([]any); ok {
			c.arrays(path, got, want)
			return
		}
	case json.Number:
		if got, ok := got.(json.Number); ok && sameNumber(got, want) {
			return
		}
	default:
		if _, nested := got.(map[string]any); nested {
			break
		}
		if _, nested := got.([]any); !nested && got == want {
			return
		}
	}
	c.add(path, got, want)
}

func (c *comparison) objects(path string, got, want map[string]any) {
	keys := slices.Sorted(maps.Keys(want))
	for key := range got {
		if _, ok := want[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		c.values(strings.TrimPrefix(path+"."+key, "."), member(got, key), member(want, key))
	}
}

func member(object map[string]any, key string) any {
	if value, ok := object[key]; ok {
		return value
	}
	return absent{}
}

func (c *comparison) arrays(path string, got, want []any) {
	for i := range max(len(got), len(want)) {
		left, right := any(absent{}), any(absent{})
		if i < len(got) {
			left = got[i]
		}
		if i < len(want) {
			right = want[i]
		}
		c.values(fmt.Sprintf("%s[%d]", path, i), left, right)
	}
}

func (c *comparison) add(path string, got, want any) {
	if len(c.found) < maxDifferences {
		c.found = append(c.found, Difference{Path: path, Got: encoded(got), Want: encoded(want)})
	}
}

func encoded(value any) json.RawMessage {
	if value == (any)(absent{}) {
		return nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage(strconv.Quote(err.Error()))
	}
	return text
}

// sameNumber compares whole numbers exactly and others as float64.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	_, whole := strconv.ParseInt(a.String(), 10, 64)
	_, whole2 := strconv.ParseInt(b.String(), 10, 64)
	if whole == nil && whole2 == nil {
		return false
	}
	x, err := a.Float64()
	y, err2 := b.Float64()
	return err == nil && err2 == nil && x == y
}
