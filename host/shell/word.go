package shell

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// word is an argument of a command, as far as it is known.
type word struct {
	text   string // static: what the program gets; else how it is written
	static bool
	many   bool // not static: it may become no argument, or several
	stream bool // not static: it is a pipe, as <(command) is
	// files: it becomes names of files at or below the folders, and nothing else.
	files   bool
	folders []string
}

// known is the value of a word that is static, or becomes one file's name: ~/x.
func (w word) known() (string, bool) {
	if !w.static && w.files && !w.many && len(w.folders) == 1 {
		return w.folders[0], true
	}
	return w.text, w.static
}

// words are the arguments that the written words become.
func (s *scan) words(written []*syntax.Word) []word {
	var all []word
	for _, w := range written {
		all = append(all, s.braces(w)...)
	}
	return all
}

// braces are the arguments of one word with {a,b} in it. What bash and the
// library might read differently is left as it is written.
func (s *scan) braces(w *syntax.Word) []word {
	asWritten := []word{{text: s.source(w), many: true}}
	if count := openBraces(w); s.posix || count == 0 {
		return []word{s.word(w)}
	} else if count > maxBraces {
		return asWritten
	}
	split := &syntax.Word{Parts: w.Parts}
	syntax.SplitBraces(split)
	var all []word
	for one, err := range expand.BracesSeq(nil, split) {
		if err != nil || len(all) == maxWords {
			return asWritten
		}
		argument := s.word(one)
		if !argument.static {
			return asWritten
		}
		all = append(all, argument)
	}
	if len(all) == 1 && strings.ContainsAny(all[0].text, "{}") {
		return s.unsplit(w, all)
	}
	return all
}

// openBraces counts the unquoted braces of a word.
func openBraces(w *syntax.Word) int {
	count := 0
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			count += strings.Count(lit.Value, "{")
		}
	}
	return count
}

// unsplit is a word with braces that are no list. "{}" and "a{b}" are common and
// certain, the rest is not.
func (s *scan) unsplit(w *syntax.Word, as []word) []word {
	if strings.Contains(as[0].text, ",") || strings.Contains(as[0].text, "..") {
		return []word{{text: s.source(w), many: true}}
	}
	return as
}

// word is what one word without braces becomes.
func (s *scan) word(w *syntax.Word) word {
	b := builder{scan: s, known: true}
	for i, part := range w.Parts {
		b.part(part, i == 0)
	}
	switch {
	case !b.known:
		_, stream := w.Parts[0].(*syntax.ProcSubst)
		return word{text: s.source(w), many: b.many, stream: stream && len(w.Parts) == 1}
	case b.replaced && !b.marked:
		return word{text: s.source(w), files: true, folders: []string{string(b.text)}}
	case b.marked && b.patterns():
		return word{text: s.source(w), many: true, files: true, folders: b.folders()}
	}
	return word{text: string(b.text), static: true}
}

// builder puts a word together from its parts.
type builder struct {
	scan  *scan
	text  []byte
	known bool
	many  bool
	// replaced: it holds the value of HOME or PWD, which nothing in the text changes.
	replaced bool
	marked   bool // pattern is set
	pattern  int  // where the first unquoted * ? [ stands
	bracket  bool // a [ without a ] so far
}

func (b *builder) part(part syntax.WordPart, first bool) {
	switch part := part.(type) {
	case *syntax.Lit:
		b.unquoted(part.Value, first)
	case *syntax.SglQuoted:
		text, ok := part.Value, true
		if part.Dollar {
			text, ok = unescape(part.Value)
		}
		b.known = b.known && ok
		b.text = append(b.text, text...)
	case *syntax.DblQuoted:
		b.known = b.known && !part.Dollar
		for _, inner := range part.Parts {
			if lit, ok := inner.(*syntax.Lit); ok {
				b.quoted(lit.Value)
				continue
			}
			b.expansion(inner, true)
		}
	default:
		b.expansion(part, false)
	}
}

// unquoted adds text that stands without quotes.
func (b *builder) unquoted(text string, first bool) {
	if first && strings.HasPrefix(text, "~") {
		text = b.tilde(text)
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			if i++; i < len(text) && text[i] != '\n' {
				b.text = append(b.text, text[i])
			}
			continue
		case '*', '?', '[':
			b.mark(c)
		case '~':
			// The shell may take it for a home folder in "a=~" and "a:~".
			b.known = b.known && (len(b.text) == 0 || !strings.ContainsRune("=:", rune(b.text[len(b.text)-1])))
		}
		b.text = append(b.text, text[i])
	}
}

// mark notes that the word may be a pattern of file names.
func (b *builder) mark(c byte) {
	if !b.marked {
		b.marked, b.pattern = true, len(b.text)
	}
	b.bracket = b.bracket || c == '['
}

// tilde replaces a home folder at the beginning of text.
func (b *builder) tilde(text string) string {
	name, _, _ := strings.Cut(text, "/")
	if name != "~" || b.scan.options.Home == "" || b.scan.shell.changed["HOME"] {
		b.known = false
		return text
	}
	b.replaced = true
	b.text = append(b.text, b.scan.options.Home...)
	return text[1:]
}

// quoted adds text between double quotes.
func (b *builder) quoted(text string) {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("$`\"\\\n", text[i+1]) >= 0 {
			if i++; text[i] == '\n' {
				continue
			}
		}
		b.text = append(b.text, text[i])
	}
}

// expansion adds what the shell replaces. HOME and PWD are known while nothing
// changes them.
func (b *builder) expansion(part syntax.WordPart, quoted bool) {
	p, ok := part.(*syntax.ParamExp)
	if value := b.variable(p, ok); value != "" && (quoted || plain.MatchString(value)) {
		b.replaced = true
		b.text = append(b.text, value...)
		return
	}
	b.known = false
	switch part.(type) {
	case *syntax.ArithmExp, *syntax.ProcSubst:
		return
	}
	lists := ok && (p.Param != nil && p.Param.Value == "@" || p.Index != nil || p.Excl)
	number := ok && isNumberWord(&syntax.Word{Parts: []syntax.WordPart{p}})
	b.many = b.many || lists || !quoted && !number
}

// variable is the value of a plain $HOME or $PWD.
func (b *builder) variable(p *syntax.ParamExp, ok bool) string {
	if !ok || p.Param == nil || p.Excl || p.Length || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Exp != nil || p.Names != 0 {
		return ""
	}
	s := b.scan
	switch name := p.Param.Value; {
	case s.shell.changed[name]:
		return ""
	case name == "HOME":
		return s.options.Home
	case name == "PWD":
		return s.options.Directory
	}
	return ""
}

// patterns says whether the marked characters make a pattern: a "[" alone is a
// command.
func (b *builder) patterns() bool {
	text := string(b.text[b.pattern:])
	return strings.ContainsAny(text, "*?") || b.bracket && strings.Contains(text, "]")
}

// folders is what stands before the first pattern, none when that may be any
// folder: ".*" matches "..".
func (b *builder) folders() []string {
	before := string(b.text[:b.pattern])
	cut := strings.LastIndexByte(before, '/') + 1
	for i, part := range strings.Split(string(b.text[cut:]), "/") {
		if strings.HasPrefix(part, ".") && (i == 0 || part == "..") || strings.HasPrefix(part, ".") && strings.ContainsAny(part, "*?[") {
			return nil
		}
	}
	if cut == 0 {
		return []string{"."}
	}
	return []string{before[:cut]}
}
