package markdown

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Error is what is wrong with a file.
type Error struct {
	Path string
	Line int // from 1; 0 when there is none
	Text string
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Text)
	}
	return e.Path + ": " + e.Text
}

// without is a file's error without its path.
func without(err error) string {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err
	}
	return "cannot be read: " + err.Error()
}

var (
	decoderLine = regexp.MustCompile(`line (\d+): `)
	unknownKey  = regexp.MustCompile(`field (\S+) not found in type (.+)`)
	wrongKind   = regexp.MustCompile("cannot unmarshal !!(\\w+) (?:`(.*)` )?into (\\S+)")
)

// decoded says what the decoder found wrong, in our words and with the line of the file:
// front matter begins at line 2.
func decoded(path string, err error, into any) *Error {
	text := err.Error()
	if _, rest, ok := strings.Cut(text, "unmarshal errors:\n"); ok {
		text, _, _ = strings.Cut(strings.TrimSpace(rest), "\n") // the first is enough
	}
	text = strings.TrimPrefix(text, "yaml: ")
	wrong := &Error{Path: path, Line: 2} // the decoder does not say that it is its first
	if at := decoderLine.FindStringSubmatchIndex(text); at != nil {
		if line, err := strconv.Atoi(text[at[2]:at[3]]); err == nil {
			wrong.Line = line + 1
		}
		text = text[:at[0]] + text[at[1]:]
	}
	if key := unknownKey.FindStringSubmatch(text); key != nil {
		text = fmt.Sprintf("unknown key %q", key[1])
		if known := keys(reflect.TypeOf(into), key[2]); len(known) > 0 {
			text += "; known here: " + strings.Join(known, ", ")
		}
	} else if kind := wrongKind.FindStringSubmatch(text); kind != nil {
		text = fmt.Sprintf("%s must be %s", written(kind[1], kind[2]), wanted(kind[3]))
	}
	wrong.Text = text + remedy(text)
	return wrong
}

// remedy is what to do about the usual slips in YAML, which the decoder does not say.
func remedy(text string) string {
	switch {
	case strings.Contains(text, "mapping values are not allowed"):
		return "; put a text that has a colon in it into quotes"
	case strings.Contains(text, "tab character"):
		return "; indent with spaces"
	}
	return ""
}

// keys are those of the struct of a name, as the decoder knows it, in a type or below it. The
// types of front matter do not have themselves below them.
func keys(in reflect.Type, name string) (all []string) {
	switch in.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return keys(in.Elem(), name)
	case reflect.Struct:
	default:
		return nil
	}
	for field := range in.Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case key == "" || key == "-":
		case in.String() == name:
			all = append(all, key)
		case len(all) == 0:
			all = keys(field.Type, name)
		}
	}
	return all
}

func written(kind, value string) string {
	switch {
	case value != "":
		return strconv.Quote(value)
	case kind == "seq":
		return "a list"
	case kind == "map":
		return "a table"
	}
	return "the value"
}

// wanted names a Go type as people do.
func wanted(kind string) string {
	switch kind = strings.TrimLeft(kind, "*"); {
	case strings.HasPrefix(kind, "[]"):
		return "a list"
	case kind == "string":
		return "a text"
	case kind == "bool":
		return "true or false"
	case strings.HasPrefix(kind, "int"):
		return "a whole number"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	}
	return "a table"
}
