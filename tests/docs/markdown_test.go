package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// page is one Markdown file.
type page struct {
	name   string // from the repository's root
	text   string
	blocks []block
	// prose is the lines outside of blocks; those inside are empty.
	prose []string
}

// block is one fenced block.
type block struct {
	line     int // of the fence, from 1
	language string
	words    []string          // of the rest of the info string: "test"
	values   map[string]string // of the rest of the info string: file=main.go
	text     string
}

func (b block) is(word string) bool { return slices.Contains(b.words, word) }

func readPage(t *testing.T, name string) page {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return parsePage(name, string(content))
}

func parsePage(name, text string) page {
	p := page{name: name, text: text}
	var open *block
	var body []string
	for i, line := range strings.Split(text, "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		switch {
		case open == nil && fence:
			open, body = newBlock(i+1, strings.TrimPrefix(strings.TrimSpace(line), "```")), nil
		case open != nil && fence:
			open.text = strings.Join(body, "\n") + "\n"
			p.blocks = append(p.blocks, *open)
			open = nil
		case open != nil:
			body = append(body, line)
		default:
			p.prose = append(p.prose, line)
			continue
		}
		p.prose = append(p.prose, "")
	}
	return p
}

func newBlock(line int, info string) *block {
	b := &block{line: line, values: map[string]string{}}
	b.language, info, _ = strings.Cut(info, " ")
	for word := range strings.FieldsSeq(info) {
		if name, value, ok := strings.Cut(word, "="); ok {
			b.values[name] = value
		} else {
			b.words = append(b.words, word)
		}
	}
	return b
}

// heading is a line like "## Two words".
var heading = regexp.MustCompile(`^#{1,6} +(.*?) *$`)

// anchors answers what can follow a # in a link to the page.
func (p page) anchors() map[string]bool {
	found := map[string]bool{}
	for _, line := range p.prose {
		match := heading.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, match[1])
		found[name] = true
	}
	return found
}

// pages lists the pages for people: those of the root, docs, and every DESIGN.md
// and README.md.
func pages(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch base := filepath.Base(path); {
		case entry.IsDir() && strings.HasPrefix(base, ".") && name != ".", entry.IsDir() && base == "node_modules":
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".md":
		case filepath.Dir(name) == ".", strings.HasPrefix(name, "docs/"), base == "DESIGN.md", base == "README.md":
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
