package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// OutputLimits bound the text of one tool settlement: what a model reads of it again
// and again. A limit that is not positive is the default one.
type OutputLimits struct {
	Lines int // line breaks and one more; 2,000
	Bytes int // of UTF-8; 51,200
}

// The default limits of a settlement's text.
const (
	DefaultOutputLines = 2000
	DefaultOutputBytes = 50 << 10
)

// OutputFiles keep the text of outputs that were too large for the transcript.
type OutputFiles interface {
	// Keep writes the whole text to a file of its own and answers the absolute path,
	// by which tools can read it while it lasts.
	Keep(ctx context.Context, session string, text string) (path string, err error)
}

// Retained is what became of the text of an output that was cut.
type Retained struct {
	// Path is the file with the whole text; empty when it is lost.
	Path string
	// Lines and Bytes measure the whole text.
	Lines int
	Bytes int
	// Lossy: the text could not be kept. Diagnostic says why, for the operator.
	Lossy      bool
	Diagnostic string
}

// maxIndented bounds the readable form of a structured value. Indentation grows
// with the depth, so a value of 1 MiB can have one of gigabytes.
const maxIndented = 8 << 20

// Bound answers the output with its text within the limits, and nil when it was
// already. The text is all text parts, a line break between two as the model reads
// them; without content it is the structured value as indented JSON. One that is too
// large is kept in a file and replaced by its beginning, a line that says what was
// left out and where the whole is, and its end. Files of the output stay behind it;
// Structured, Title and Metadata stay as they are.
//
// A text that cannot be kept is cut all the same: the tool has succeeded. ctx gives
// its values only, as what a tool has done is settled whatever becomes of the turn.
// Bounding twice changes nothing more.
func Bound(ctx context.Context, files OutputFiles, session string, limits OutputLimits, output ToolOutput) (bounded ToolOutput, kept *Retained) {
	limits = limits.orDefault()
	text := outputText(output)
	if limits.hold(text) {
		return output, nil
	}
	kept = &Retained{Lines: countLines(text), Bytes: len(text)}
	path, err := files.Keep(context.WithoutCancel(ctx), session, text)
	if err != nil {
		kept.Lossy = true
		kept.Diagnostic = fmt.Sprintf("keep a tool's output of %d bytes: %v", len(text), err)
	} else {
		kept.Path = path
	}
	bounded = output
	bounded.Content = []ToolContent{{Type: "text", Text: limits.preview(text, kept)}}
	for _, part := range output.Content {
		if part.Type != "text" {
			bounded.Content = append(bounded.Content, part)
		}
	}
	return bounded, kept
}

func (l OutputLimits) orDefault() OutputLimits {
	if l.Lines <= 0 {
		l.Lines = DefaultOutputLines
	}
	if l.Bytes <= 0 {
		l.Bytes = DefaultOutputBytes
	}
	return l
}

func (l OutputLimits) hold(text string) bool {
	return len(text) <= l.Bytes && countLines(text) <= l.Lines
}

func countLines(text string) int { return strings.Count(text, "\n") + 1 }

// outputText is what the model would read of an output, as events will keep it: a
// byte that is no UTF-8 becomes the replacement character there.
func outputText(output ToolOutput) string {
	if len(output.Content) == 0 {
		return indented(output.Structured)
	}
	var texts []string
	for _, part := range output.Content {
		if part.Type == "text" {
			texts = append(texts, part.Text)
		}
	}
	return wellFormed(strings.Join(texts, "\n"))
}

func wellFormed(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}

// indented is the readable form of a JSON value, or its compact one where that would
// be out of proportion.
func indented(value json.RawMessage) string {
	var compact, readable bytes.Buffer
	if len(value) == 0 || json.Compact(&compact, value) != nil {
		return wellFormed(string(value))
	}
	if indentedSize(compact.Bytes()) > maxIndented || json.Indent(&readable, compact.Bytes(), "", "  ") != nil {
		readable = compact
	}
	return wellFormed(readable.String())
}

// indentedSize is at least the size of a compact value once it is indented.
func indentedSize(compact []byte) int {
	size, depth, quoted := len(compact), 0, false
	for i := 0; i < len(compact); i++ {
		switch b := compact[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{', b == '[':
			depth++
			size += 1 + 2*depth
		case b == '}', b == ']':
			depth--
			size += 1 + 2*depth
		case b == ',':
			size += 1 + 2*depth
		case b == ':':
			size++
		}
	}
	return size
}

// around stands on both sides of the marker.
const around = "\n\n"

// preview is the beginning, the marker and the end of a text. It holds the limits,
// which the text does not. With no room for a line of each end it is the marker
// alone, cut to what there is room for.
func (l OutputLimits) preview(text string, kept *Retained) string {
	widest := marker(kept, kept.Bytes)                      // the number that is told has no more digits
	lines := l.Lines - countLines(around+widest+around) + 2 // the ends share a line with it each
	room := l.Bytes - len(around+widest+around)
	if lines < 2 || room < 1 {
		return firstBytes(firstLines(widest, l.Lines), l.Bytes)
	}
	head, tail := firstLines(text, lines-lines/2), lastLines(text, lines/2)
	// An end that is shorter than its half leaves the rest to the other.
	head = firstBytes(head, max(room-room/2, room-len(tail)))
	tail = lastBytes(tail, room-len(head))
	return head + around + marker(kept, kept.Bytes-len(head)-len(tail)) + around + tail
}

// marker tells the model what is not here. It is one line unless the path has more.
func marker(kept *Retained, missing int) string {
	if kept.Lossy {
		return fmt.Sprintf("[%d of the %d bytes of this output are left out here and are lost: they could not be kept in a file. "+
			"If you need them, ask for less at a time.]", missing, kept.Bytes)
	}
	return fmt.Sprintf("[%d of the %d bytes of this output are left out here. All its %d lines are in the file %s for some days; "+
		"search it, or read parts of it with offset and limit.]", missing, kept.Bytes, kept.Lines, kept.Path)
}

// firstLines answers the first n lines, n at least 1, without the break after them.
func firstLines(text string, n int) string {
	end := 0
	for range n {
		next := strings.IndexByte(text[end:], '\n')
		if next < 0 {
			return text
		}
		end += next + 1
	}
	return text[:end-1]
}

// lastLines answers the last n lines, n at least 1.
func lastLines(text string, n int) string {
	start := len(text)
	for range n {
		if start = strings.LastIndexByte(text[:start], '\n'); start < 0 {
			return text
		}
	}
	return text[start+1:]
}

// firstBytes answers at most n bytes of the beginning, without part of a code point.
func firstBytes(text string, n int) string {
	if n >= len(text) {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// lastBytes answers at most n bytes of the end, without part of a code point.
func lastBytes(text string, n int) string {
	start := max(len(text)-n, 0)
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	return text[start:]
}
