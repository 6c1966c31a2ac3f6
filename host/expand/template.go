package expand

import (
	"errors"
	"fmt"
	"strings"
)

// Command is a prompt that somebody wrote beforehand.
type Command struct {
	Name string
	// Source says who wrote it, one of the Source constants.
	Source      string
	Description string
	// Template is the text: $ARGUMENTS and $1 to $9 stand for what the caller gives,
	// !`line` for what a command line prints, and @ mentions as in any text.
	Template string
	// Agent, Model ("provider/model") and Variant are what the prompt chooses, "" for the
	// session's.
	Agent, Model, Variant string
}

// Who wrote a command.
const (
	SourceBuiltin = "builtin" // it comes with the program
	SourceConfig  = "config"  // the operator
	SourceProject = "project" // whoever wrote the project's files
)

// Limits of a command.
const (
	MaxTemplate  = 64 << 10 // bytes
	MaxArguments = 64 << 10 // bytes
	MaxLines     = 16       // command lines in a template
)

// piece is a part of a template that was filled: a text, or a command line.
type piece struct {
	text string
	line bool
}

// CheckTemplate says what is wrong with a template.
func CheckTemplate(template string) error {
	switch {
	case strings.TrimSpace(template) == "":
		return errors.New("is empty; write the text of the prompt")
	case len(template) > MaxTemplate:
		return fmt.Errorf("has %d bytes, the limit is %d", len(template), MaxTemplate)
	}
	_, err := fill(template, "")
	return err
}

// fill puts the arguments into a template. Where it has no place for them they follow it.
func fill(template, arguments string) ([]piece, error) {
	f := filler{arguments: arguments, words: words(arguments)}
	var pieces []piece
	lines := 0
	for template != "" {
		start, line, rest, ok := nextLine(template)
		if !ok {
			pieces = append(pieces, piece{text: f.text(template)})
			break
		}
		if start > 0 {
			pieces = append(pieces, piece{text: f.text(template[:start])})
		}
		filled, err := f.line(line)
		if err != nil {
			return nil, err
		}
		if lines++; lines > MaxLines {
			return nil, fmt.Errorf("has more than %d command lines, the limit", MaxLines)
		}
		pieces = append(pieces, piece{text: filled, line: true})
		template = rest
	}
	if !f.used && strings.TrimSpace(arguments) != "" {
		pieces = append(pieces, piece{text: "\n\n" + arguments})
	}
	return pieces, nil
}

// nextLine finds the first !`line` of a template, and what is behind it. An empty one is
// text, and so is one behind a backslash.
func nextLine(template string) (start int, line, rest string, ok bool) {
	for at := 0; ; {
		n := strings.Index(template[at:], "!`")
		if n < 0 {
			return 0, "", "", false
		}
		start = at + n
		at = start + 2
		end := strings.IndexByte(template[at:], '`')
		if end < 0 {
			return 0, "", "", false
		}
		if start > 0 && template[start-1] == '\\' || strings.TrimSpace(template[at:at+end]) == "" {
			continue
		}
		return start, template[at : at+end], template[at+end+1:], true
	}
}

// filler puts arguments into the places for them.
type filler struct {
	arguments string
	words     []string
	used      bool
}

// text fills the places in a text. \$ and \! are the signs themselves.
func (f *filler) text(template string) string {
	var filled strings.Builder
	for at := 0; at < len(template); {
		if template[at] == '\\' && at+1 < len(template) && strings.IndexByte("$!", template[at+1]) >= 0 {
			filled.WriteByte(template[at+1])
			at += 2
			continue
		}
		if number, size := placeholder(template[at:]); size > 0 {
			f.used = true
			if number == 0 {
				filled.WriteString(f.arguments)
			} else {
				filled.WriteString(f.word(number))
			}
			at += size
			continue
		}
		filled.WriteByte(template[at])
		at++
	}
	return filled.String()
}

// line fills the places in a command line, each with words in quotes, so that what a
// caller gives is an argument there and no command.
func (f *filler) line(template string) (string, error) {
	var filled strings.Builder
	var quote byte // the one that is open
	for at := 0; at < len(template); {
		c := template[at]
		number, size := placeholder(template[at:])
		switch {
		case size > 0 && (quote != 0 || strings.Contains(template, "<<")):
			return "", fmt.Errorf("has %s in quotes or beside << in the command line %q; write it alone, it is put into quotes by itself",
				template[at:at+size], template)
		case size > 0:
			f.used = true
			filled.WriteString(f.quoted(number))
			at += size
			continue
		case c == '\\' && quote != '\'' && at+1 < len(template):
			filled.WriteString(template[at : at+2])
			at += 2
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		}
		filled.WriteByte(c)
		at++
	}
	return filled.String(), nil
}

// placeholder reads $ARGUMENTS, which is 0, or $1 to $9 at the beginning of a text; size is
// 0 when there is none.
func placeholder(text string) (number, size int) {
	const all = "$ARGUMENTS"
	switch {
	case strings.HasPrefix(text, all):
		return 0, len(all)
	case len(text) < 2 || text[0] != '$' || text[1] < '1' || text[1] > '9':
		return 0, 0
	case len(text) > 2 && text[2] >= '0' && text[2] <= '9':
		return 0, 0
	}
	return int(text[1] - '0'), 2
}

func (f *filler) word(number int) string {
	if number > len(f.words) {
		return ""
	}
	return f.words[number-1]
}

// quoted is what a command line gets: nothing for what is missing.
func (f *filler) quoted(number int) string {
	given := f.words
	if number > 0 {
		given = given[min(number-1, len(given)):min(number, len(given))]
	}
	all := make([]string, len(given))
	for i, word := range given {
		all[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(all, " ")
}

// words splits arguments as a shell does: at white space, except in quotes; a backslash
// keeps what is behind it. A quote that nothing closes is a character like others.
func words(text string) []string {
	var all []string
	var word strings.Builder
	begun := false
	for at := 0; at < len(text); at++ {
		c := text[at]
		switch {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			if begun {
				all = append(all, word.String())
				word.Reset()
			}
			begun = false
			continue
		case c == '\\' && at+1 < len(text):
			at++
			word.WriteByte(text[at])
		case c == '\'' || c == '"':
			inside, size := quotedWord(text[at:])
			word.WriteString(inside)
			at += size - 1
		default:
			word.WriteByte(c)
		}
		begun = true
	}
	if begun {
		all = append(all, word.String())
	}
	return all
}

// quotedWord reads what begins with a quote, and how many bytes that takes. In double
// quotes a backslash keeps a quote and itself.
func quotedWord(text string) (inside string, size int) {
	var word strings.Builder
	for at := 1; at < len(text); at++ {
		switch c := text[at]; {
		case c == text[0]:
			return word.String(), at + 1
		case c == '\\' && text[0] == '"' && at+1 < len(text) && strings.IndexByte(`"\`, text[at+1]) >= 0:
			at++
			word.WriteByte(text[at])
		default:
			word.WriteByte(c)
		}
	}
	return text[:1], 1
}
