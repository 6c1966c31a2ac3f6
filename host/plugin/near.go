package plugin

import (
	"reflect"
	"slices"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
)

// nearKey answers the key that the last of an unknown path was probably meant to be, ""
// for none.
func nearKey(path []string) string {
	if len(path) == 0 {
		return ""
	}
	near, least := "", 3 // more edits than two make another word
	written := strings.ToLower(path[len(path)-1])
	for _, key := range keysOf(reflect.TypeFor[abi.Manifest](), path[:len(path)-1]) {
		if edits := distance(written, key); edits < least && edits < len(key) {
			near, least = key, edits
		}
	}
	return near
}

// keysOf answers the keys of the table at a path, ascending; none where the manifest does not
// decide on them.
func keysOf(table reflect.Type, path []string) []string {
	for table.Kind() == reflect.Pointer || table.Kind() == reflect.Slice {
		table = table.Elem()
	}
	if table.Kind() != reflect.Struct {
		return nil
	}
	var keys []string
	for _, field := range reflect.VisibleFields(table) {
		key := field.Tag.Get("toml")
		if len(path) > 0 && key == path[0] {
			return keysOf(field.Type, path[1:])
		}
		keys = append(keys, key)
	}
	if len(path) > 0 {
		return nil
	}
	slices.Sort(keys)
	return keys
}

// distance is how many bytes have to be put in, taken out or changed to make one text of
// the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
