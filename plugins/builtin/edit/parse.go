package main

import (
	"path"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
)

// What a section of a patch does.
const (
	adds    = 'A'
	updates = 'M'
	deletes = 'D'
)

// maxSections is what one fs.commit takes.
const maxSections = 500

// section is what a patch says of one file.
type section struct {
	does    byte
	path    string
	to      string // of an update that moves the file
	content string // of a file that is added
	chunks  []chunk
	line    int // of the patch, from 1
}

// chunk is a place in a file and what changes there.
type chunk struct {
	after []string // the lines that it comes after, one after the other
	lines []patchLine
	end   bool // the lines are the last of the file
}

// patchLine is a line that is kept (' '), taken out ('-') or put in ('+').
type patchLine struct {
	sign byte
	text string
}

// sought are the lines that a chunk finds in the file.
func (c chunk) sought() []string {
	var old []string
	for _, line := range c.lines {
		if line.sign != '+' {
			old = append(old, line.text)
		}
	}
	return old
}

// parser reads a patch line by line.
type parser struct {
	lines []string
	at    int
	first int // number of the first line
}

// Markers of the grammar.
const (
	beginPatch = "*** Begin Patch"
	endPatch   = "*** End Patch"
	addFile    = "*** Add File:"
	updateFile = "*** Update File:"
	deleteFile = "*** Delete File:"
	moveTo     = "*** Move to:"
	endOfFile  = "*** End of File"
)

// parse reads a patch.
func parse(text string) ([]section, error) {
	p, err := unwrapped(strings.ReplaceAll(text, "\r\n", "\n"))
	if err != nil {
		return nil, err
	}
	var sections []section
	for p.skipBlank(); p.at < len(p.lines); p.skipBlank() {
		one, err := p.section()
		if err != nil {
			return nil, err
		}
		if sections = append(sections, one); len(sections) > maxSections {
			return nil, plinth.Errorf(abi.KindLimit, "the patch has more than %d files; split it", maxSections)
		}
	}
	if len(sections) == 0 {
		return nil, plinth.Errorf(abi.KindInvalidInput, "the patch is empty: there is no file between %s and %s", beginPatch, endPatch)
	}
	return sections, nil
}

// unwrapped takes off the markers, and a here-document around them.
func unwrapped(text string) (*parser, error) {
	lines := splitLines(text)
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\n")
	}
	first, last := trimBlank(lines, 0, len(lines))
	if last-first >= 2 {
		if word := hereDocument(lines[first]); word != "" && strings.TrimSpace(lines[last-1]) == word {
			first, last = trimBlank(lines, first+1, last-1)
		}
	}
	switch {
	case first == last || strings.TrimSpace(lines[first]) != beginPatch:
		return nil, plinth.Errorf(abi.KindInvalidInput, "a patch begins with the line %s", beginPatch)
	case last-first < 2 || strings.TrimSpace(lines[last-1]) != endPatch:
		return nil, plinth.Errorf(abi.KindInvalidInput, "a patch ends with the line %s; this one may have been cut off", endPatch)
	}
	return &parser{lines: lines[first+1 : last-1], first: first + 2}, nil
}

func trimBlank(lines []string, first, last int) (int, int) {
	for first < last && blank(lines[first]) {
		first++
	}
	for last > first && blank(lines[last-1]) {
		last--
	}
	return first, last
}

// hereDocument answers the word that ends the here-document which a line begins, or "".
func hereDocument(line string) string {
	_, word, found := strings.Cut(line, "<<")
	if !found {
		return ""
	}
	word = strings.TrimSpace(strings.TrimPrefix(word, "-"))
	if n := len(word); n > 2 && (word[0] == '\'' || word[0] == '"') && word[n-1] == word[0] {
		word = word[1 : n-1]
	}
	if strings.ContainsAny(word, " \t'\"") {
		return ""
	}
	return word
}

func (p *parser) fail(at int, format string, args ...any) error {
	return plinth.Errorf(abi.KindInvalidInput, "line %d of the patch: "+format, append([]any{p.first + at}, args...)...)
}

func (p *parser) skipBlank() {
	for p.at < len(p.lines) && blank(p.lines[p.at]) {
		p.at++
	}
}

// header answers the path behind a marker.
func (p *parser) header(marker string) (name string, ok bool) {
	if p.at == len(p.lines) || !strings.HasPrefix(p.lines[p.at], marker) {
		return "", false
	}
	return strings.TrimSpace(p.lines[p.at][len(marker):]), true
}

func (p *parser) section() (section, error) {
	for _, kind := range []struct {
		marker string
		does   byte
	}{{addFile, adds}, {updateFile, updates}, {deleteFile, deletes}} {
		name, ok := p.header(kind.marker)
		if !ok {
			continue
		}
		one := section{does: kind.does, path: name, line: p.first + p.at}
		if err := checkPath(name); err != nil {
			return section{}, p.fail(p.at, "%s", messageOf(err))
		}
		p.at++
		return p.body(one)
	}
	return section{}, p.fail(p.at, "%s is not the beginning of a file; that is %s, %s or %s", quoted(p.lines[p.at]), addFile, updateFile, deleteFile)
}

func (p *parser) body(one section) (section, error) {
	switch one.does {
	case adds:
		return p.added(one)
	case updates:
		return p.updated(one)
	}
	return one, nil
}

// heads reports whether the next line begins something else.
func (p *parser) heads() bool {
	return p.at == len(p.lines) || strings.HasPrefix(p.lines[p.at], "*** ")
}

func (p *parser) added(one section) (section, error) {
	var content strings.Builder
	for ; !p.heads(); p.at++ {
		line, ok := strings.CutPrefix(p.lines[p.at], "+")
		if ok {
			content.WriteString(line + "\n")
			continue
		}
		at := p.at
		if p.skipBlank(); p.heads() {
			break
		}
		return section{}, p.fail(at, "every line of the new file %s begins with +, %s does not", one.path, quoted(p.lines[at]))
	}
	one.content = content.String()
	return one, nil
}

func (p *parser) updated(one section) (section, error) {
	if to, ok := p.header(moveTo); ok {
		if err := checkPath(to); err != nil {
			return section{}, p.fail(p.at, "%s", messageOf(err))
		}
		if path.Clean(to) == path.Clean(one.path) {
			return section{}, p.fail(p.at, "%s cannot be moved to itself; leave %s out", one.path, moveTo)
		}
		one.to = to
		p.at++
	}
	for !p.heads() {
		at := p.at
		next, err := p.chunk(len(one.chunks) == 0)
		if err != nil {
			return section{}, err
		}
		switch {
		case next == nil:
		case len(next.lines) == 0:
			return section{}, p.fail(at, "there is nothing behind this @@; lines of the file with ' ', - or + in front belong there")
		default:
			one.chunks = append(one.chunks, *next)
		}
	}
	if len(one.chunks) == 0 && one.to == "" {
		return section{}, plinth.Errorf(abi.KindInvalidInput, "line %d of the patch: the update of %s has no chunk; it needs at least one, which begins with @@", one.line, one.path)
	}
	return one, nil
}

// chunk reads one; nil when only blank lines were left. The first one may do without
// its @@.
func (p *parser) chunk(first bool) (*chunk, error) {
	var c chunk
	line := p.lines[p.at]
	switch {
	case strings.HasPrefix(line, "@@"):
		for ; p.at < len(p.lines) && strings.HasPrefix(p.lines[p.at], "@@"); p.at++ {
			if after := afterOf(p.lines[p.at]); after != "" {
				c.after = append(c.after, after)
			}
		}
	case blank(line) && p.onlyBlank():
		return nil, nil
	case !first:
		return nil, p.fail(p.at, "%s belongs to no chunk; a chunk begins with @@", quoted(line))
	}
	for p.at < len(p.lines) && !strings.HasPrefix(p.lines[p.at], "@@") {
		line := p.lines[p.at]
		switch {
		case strings.TrimSpace(line) == endOfFile:
			c.end = true
			p.at++
			return &c, nil
		case strings.HasPrefix(line, "*** "):
			return &c, nil
		case line == "":
			c.lines = append(c.lines, patchLine{sign: ' '})
		case line[0] == ' ' || line[0] == '-' || line[0] == '+':
			c.lines = append(c.lines, patchLine{line[0], line[1:]})
		default:
			return nil, p.fail(p.at, "%s begins with neither ' ', - nor +, as the lines of a chunk do", quoted(line))
		}
		p.at++
	}
	return &c, nil
}

// onlyBlank reports whether nothing but blank lines comes before what begins next, and
// steps over them then.
func (p *parser) onlyBlank() bool {
	at := p.at
	if p.skipBlank(); p.heads() {
		return true
	}
	p.at = at
	return false
}

// afterOf is the line that a chunk comes after; "" for none. The line numbers of a
// unified diff say nothing: they are not trusted.
func afterOf(line string) string {
	after := strings.TrimPrefix(strings.TrimPrefix(line, "@@"), " ")
	numbers, _, found := strings.Cut(after, " @@")
	if found && strings.HasPrefix(numbers, "-") && strings.Trim(numbers, "-+, 0123456789") == "" {
		return ""
	}
	if blank(after) {
		return ""
	}
	return after
}
