package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func compileOrFail(t testing.TB, pattern string, options Options) *Pattern {
	t.Helper()
	p, err := Compile(pattern, options)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// search answers matching lines as "number:column:text" and others as
// "number-text".
func search(t testing.TB, s *Searcher, text io.Reader) []string {
	t.Helper()
	found, err := s.Search(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	shown := []string{}
	for _, line := range found.Lines {
		if line.Column == 0 {
			shown = append(shown, fmt.Sprintf("%d-%s", line.Number, line.Text))
		} else {
			shown = append(shown, fmt.Sprintf("%d:%d:%s", line.Number, line.Column, line.Text))
		}
	}
	return shown
}

func wide() Limits { return Limits{Matches: 1 << 20, Width: 1 << 20, Bytes: 1 << 30} }

func TestSearch(t *testing.T) {
	for _, test := range []struct {
		pattern string
		options Options
		text    string
		want    []string
	}{
		{"b", Options{}, "a\nxb\nc\nb", []string{"2:2:xb", "4:1:b"}},
		{"b", Options{}, "", []string{}},
		{"bb", Options{}, "bbbb\n", []string{"1:1:bbbb"}},
		{"a.c", Options{}, "abc\na\nc\n", []string{"1:1:abc"}},
		{"a.c", Options{Literal: true}, "abc\na.c\n", []string{"2:1:a.c"}},
		{"A.c", Options{Literal: true, IgnoreCase: true}, "abc\nxa.C\n", []string{"2:2:xa.C"}},
		{"straße", Options{IgnoreCase: true}, "STRAßE\nstrasse", []string{"1:1:STRAßE"}},
		{"k", Options{IgnoreCase: true}, "\u212a\nx", []string{"1:1:\u212a"}}, // the Kelvin sign
		{"^b", Options{}, "ab\nb\n", []string{"2:1:b"}},
		{"(a|^)b", Options{}, "xb\nb\nab", []string{"2:1:b", "3:1:ab"}},
		{`\Ab`, Options{}, "ab\nb\n", []string{"2:1:b"}},
		{"b$", Options{}, "ba\nb\nab", []string{"2:1:b", "3:2:ab"}},
		{`b\z`, Options{}, "ba\nb", []string{"2:1:b"}},
		{"b$", Options{}, "ab\r\nb\rx\r\n", []string{"1:2:ab"}},
		{"^$", Options{}, "a\n\nb\n", []string{"2:1:"}},
		{"^$", Options{}, "a\n\r\n", []string{"2:1:"}},
		{"^$", Options{}, "\n", []string{"1:1:"}},
		{"x*", Options{}, "a\n\nb", []string{"1:1:a", "2:1:", "3:1:b"}},
		{`\bb\b`, Options{}, "ab\na b\nba", []string{"2:3:a b"}},
		{`\Bb`, Options{}, "b\nab", []string{"2:2:ab"}},
		{`a\sb`, Options{}, "a\nb\na b", []string{"3:1:a b"}},
		{`a[^x]b`, Options{}, "a\nb\na b", []string{"3:1:a b"}},
		{`(?s)a.b`, Options{}, "a\nb\na b", []string{"3:1:a b"}},
		{`a\r`, Options{}, "a\r\na\n", []string{"1:1:a"}},
		{`\x{fffd}`, Options{}, "a\xffb\nc", []string{"1:2:a\uFFFDb"}},
		{"c", Options{}, "a\xffbc\n", []string{"1:4:a\uFFFDbc"}},
		{"é+f", Options{}, "aééf", []string{"1:2:aééf"}},
		{`(foo|bar)baz`, Options{}, "foobar\nbarbaz", []string{"2:1:barbaz"}},
		{`func (\w+)Error\(`, Options{}, "Error\nfunc myError(x)\nfunc Error(", []string{"2:1:func myError(x)"}},
	} {
		s := compileOrFail(t, test.pattern, test.options).NewSearcher(wide())
		if diff := cmp.Diff(test.want, search(t, s, strings.NewReader(test.text))); diff != "" {
			t.Errorf("%q %+v in %q:\n%s", test.pattern, test.options, test.text, diff)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, test := range []struct {
		pattern string
		options Options
		want    string
	}{
		{"", Options{}, "empty"},
		{"a\xff", Options{}, "UTF-8"},
		{strings.Repeat("a", MaxPattern+1), Options{}, "4097 bytes"},
		{"a\nb", Options{Literal: true}, "line break"},
		{`a\nb`, Options{}, "line break"},
		{`[\n]`, Options{}, "line break"},
		{"(", Options{}, "missing closing )"},
		{"a(?=b)", Options{}, "look-around"},
		{`(a)\1`, Options{}, "invalid escape"},
		{"(a{50}){20}(b{50}){20}.{999}.{999}.{999}.{999}.{999}.{999}.{999}.{999}.{999}", Options{}, "repetitions"},
		{"a{1001}", Options{}, "invalid repeat count"},
	} {
		if _, err := Compile(test.pattern, test.options); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.30q: %v, want %q", test.pattern, err, test.want)
		}
	}
}

func TestRequired(t *testing.T) {
	for pattern, want := range map[string]string{
		`foo`: "foo", `(foo)bar`: "foobar", `a(b|c)defg?`: "def", `x+yyy+zz`: "yy", `(?i)foo`: "", `foo|bar`: "",
		`(abc){2,}x`: "abc", `(abc)*xy`: "xy", `\bword\b`: "word", `foobar|foobaz`: "fooba", `\x{fffd}a`: "",
	} {
		tree, err := syntax.Parse(pattern, syntax.PerlX)
		if err != nil {
			t.Fatal(err)
		}
		if got := required(tree); string(got) != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}

func TestNeedle(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	some := func(length int) []byte {
		text := make([]byte, length)
		for i := range text {
			text[i] = "aabbeZ\xc3\xa9"[random.IntN(8)]
		}
		return text
	}
	for range 20_000 {
		text, literal := some(random.IntN(40)), some(1+random.IntN(4))
		if got, want := newNeedle(literal).index(text), bytes.Index(text, literal); got != want {
			t.Fatalf("%q in %q: %d, want %d", literal, text, got, want)
		}
	}
	for literal, rare := range map[string]int{"errNotReady": 3, "quest": 0, "éa": 1} {
		if got := newNeedle([]byte(literal)).rare; got != rare {
			t.Errorf("%s is looked for by byte %d, want %d", literal, got, rare)
		}
	}
}

// TestRegexpAgrees compares with package regexp, line by line, on patterns and
// texts made at random, through buffers that are far too small.
func TestRegexpAgrees(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 7))
	compared, matches := 0, 0
	for range 6000 {
		pattern := somePattern(random, 3)
		oracle, err := regexp.Compile(pattern)
		if err != nil {
			continue
		}
		p, err := Compile(pattern, Options{})
		if err != nil {
			continue
		}
		compared++
		text := someText(random)
		want := expected(oracle, text)
		matches += len(want)
		s := p.NewSearcher(wide())
		s.buffer = make([]byte, 1+random.IntN(20))
		if diff := cmp.Diff(want, search(t, s, strings.NewReader(text))); diff != "" {
			t.Fatalf("%q in %q:\n%s", pattern, text, diff)
		}
	}
	if compared < 4000 || matches < 5000 {
		t.Errorf("%d patterns and %d matches are too few to have compared anything", compared, matches)
	}
}

func expected(oracle *regexp.Regexp, text string) []string {
	want := []string{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if place := oracle.FindStringIndex(line); place != nil {
			want = append(want, fmt.Sprintf("%d:%d:%s", number, place[0]+1, strings.ToValidUTF8(line, "\uFFFD")))
		}
	}
	return want
}

func somePattern(random *rand.Rand, depth int) string {
	atoms := []string{"a", "b", "c", "ab", "abc", ".", "[ab]", "[^a]", `\w`, `\s`, `\d`, "é", "[é-ü]", `\pL`, "^", "$", `\b`, `\B`, "(?i:aB)", "(?i:É)", `\x{fffd}`}
	if depth == 0 {
		return atoms[random.IntN(len(atoms))]
	}
	a, b := somePattern(random, depth-1), somePattern(random, depth-1)
	switch random.IntN(9) {
	case 0:
		return "(?:" + a + "|" + b + ")"
	case 1:
		return "(" + a + ")*" + b
	case 2:
		return "(" + a + ")+"
	case 3:
		return "(?:" + a + ")?" + b
	case 4:
		return "(" + a + "){1,3}"
	case 5:
		return a
	}
	return a + b
}

func someText(random *rand.Rand) string {
	pieces := []string{"a", "b", "c", "ab", "abc", "\n", "\n", " ", "1", "é", "É", "ü", "\xff", "_", "B"}
	var text strings.Builder
	for range random.IntN(60) {
		text.WriteString(pieces[random.IntN(len(pieces))])
	}
	return text.String()
}

func TestContext(t *testing.T) {
	text := "1\n2\nx3\n4\n5\nx6\nx7\n8\n9\n10\nx11\n12\n"
	for _, test := range []struct {
		context, matches int
		want             string
		more             bool
	}{
		{0, 9, "3:1:x3 6:1:x6 7:1:x7 11:1:x11", false},
		{1, 9, "2-2 3:1:x3 4-4 5-5 6:1:x6 7:1:x7 8-8 10-10 11:1:x11 12-12", false},
		{3, 9, "1-1 2-2 3:1:x3 4-4 5-5 6:1:x6 7:1:x7 8-8 9-9 10-10 11:1:x11 12-12", false},
		{1, 1, "2-2 3:1:x3 4-4", true},
		{2, 3, "1-1 2-2 3:1:x3 4-4 5-5 6:1:x6 7:1:x7 8-8 9-9", true},
		{1, 4, "2-2 3:1:x3 4-4 5-5 6:1:x6 7:1:x7 8-8 10-10 11:1:x11 12-12", false},
	} {
		for _, size := range []int{1, 3, 8, firstBuffer} {
			limits := wide()
			limits.Context, limits.Matches = test.context, test.matches
			s := compileOrFail(t, "x", Options{}).NewSearcher(limits)
			s.buffer = make([]byte, size)
			got := strings.Join(search(t, s, iotest.HalfReader(strings.NewReader(text))), " ")
			if got != test.want || s.found.More != test.more || s.found.Matches != min(test.matches, 4) {
				t.Errorf("%+v with %d bytes: %s, more %v, %d matches", test, size, got, s.found.More, s.found.Matches)
			}
		}
	}
}

func TestWidth(t *testing.T) {
	line := strings.Repeat("é", 50) + "x" + strings.Repeat("ü", 50)
	for _, test := range []struct {
		pattern string
		width   int
		want    Line
	}{
		{"x", 1000, Line{Number: 1, Column: 101, Text: line}},
		{"é", 5, Line{Number: 1, Column: 1, Text: "éé", Cut: true}},
		{"x", 8, Line{Number: 1, Column: 101, Offset: 98, Text: "éxüü", Cut: true}},
		{"ü$", 9, Line{Number: 1, Column: 200, Offset: 191, Text: "üüüü", Cut: true}},
	} {
		limits := wide()
		limits.Width = test.width
		found, err := compileOrFail(t, test.pattern, Options{}).NewSearcher(limits).Search(t.Context(), strings.NewReader(line+"\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Line{test.want}, found.Lines); diff != "" {
			t.Errorf("%s in %d:\n%s", test.pattern, test.width, diff)
		}
	}
	limits := wide()
	limits.Width = 10
	found, err := compileOrFail(t, "b", Options{}).NewSearcher(limits).Search(t.Context(), strings.NewReader(strings.Repeat("\x80", 100)+"b"))
	if err != nil || len(found.Lines) != 1 || !utf8.ValidString(found.Lines[0].Text) {
		t.Errorf("bytes that are no UTF-8: %+v, %v", found, err)
	}
}

func TestBytes(t *testing.T) {
	limits := wide()
	limits.Bytes = 10
	found, err := compileOrFail(t, "a", Options{}).NewSearcher(limits).Search(t.Context(), strings.NewReader(strings.Repeat("aaaa\n", 9)))
	if err != nil || found.Matches != 3 || found.Bytes != 12 || !found.More {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestBinary(t *testing.T) {
	s := compileOrFail(t, "needle", Options{}).NewSearcher(wide())
	for name, test := range map[string]struct {
		text   string
		binary bool
	}{
		"at the beginning": {"\x00needle\n", true},
		"at the end":       {"needle\n\x00", true},
		"in UTF-16":        {"n\x00e\x00", true},
		"after 64 KiB":     {"needle\n" + strings.Repeat("line\n", 20000) + "\x00", false},
	} {
		found, err := s.Search(t.Context(), strings.NewReader(test.text))
		if err != nil || found.Binary != test.binary || found.Matches > 0 == test.binary {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

// TestLargeTexts crosses the buffer at every place, and holds lines longer than
// any buffer.
func TestLargeTexts(t *testing.T) {
	var text strings.Builder
	want := []string{}
	for i := 1; i <= 40_000; i++ {
		line := fmt.Sprintf("line %d of many", i)
		if i%997 == 0 {
			line += " needle"
			want = append(want, fmt.Sprintf("%d:%d:%s", i, len(line)-5, line))
		}
		text.WriteString(line + "\n")
	}
	for _, pattern := range []string{"needle", "[n]eedle", "n[a-z]+dle$", "(?i)NEEDLE"} {
		s := compileOrFail(t, pattern, Options{}).NewSearcher(wide())
		for range 2 { // a searcher can be used again
			if diff := cmp.Diff(want, search(t, s, strings.NewReader(text.String()))); diff != "" {
				t.Errorf("%s: %s", pattern, diff)
			}
		}
	}
	long := strings.Repeat("é", MaxLine) + "needle\nlast needle"
	limits := wide()
	limits.Width = 20
	for _, pattern := range []string{"needle", "[n]eedle"} {
		s := compileOrFail(t, pattern, Options{}).NewSearcher(limits)
		found, err := s.Search(t.Context(), strings.NewReader(long))
		if err != nil || found.Matches != 2 || found.Lines[0].Number != 1 || found.Lines[1].Number != 2 || !strings.Contains(found.Lines[0].Text, "needle") {
			t.Errorf("%s: %+v, %v", pattern, found, err)
		}
	}
}

// TestTablesAreBounded: a pattern whose automaton would be huge is still exact.
func TestTablesAreBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	bits := make([]byte, 200_000)
	for i := range bits {
		bits[i] = "ab"[random.IntN(2)]
		if i%1000 == 999 {
			bits[i] = '\n'
		}
	}
	for _, pattern := range []string{"a[ab]{18}c|z", `a\pL{12}1|z`} {
		s := compileOrFail(t, pattern, Options{}).NewSearcher(wide())
		text := string(bits) + "z\n" + string(bits)
		got := search(t, s, strings.NewReader(text))
		if diff := cmp.Diff([]string{"201:1:z"}, got); diff != "" {
			t.Errorf("%s: %s", pattern, diff)
		}
		if cells := len(s.finder.automaton.table); cells > maxCells+s.finder.automaton.classes {
			t.Errorf("%s: the table has %d cells", pattern, cells)
		}
		if !s.finder.automaton.idle && s.finder.automaton.resets == 0 {
			t.Errorf("%s: neither bound was reached, so neither was tested", pattern)
		}
	}
}

func TestErrors(t *testing.T) {
	s := compileOrFail(t, "a", Options{}).NewSearcher(wide())
	broken := errors.New("broken")
	if _, err := s.Search(t.Context(), io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("a broken reader: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(broken)
	for _, text := range []string{"xab\n", strings.Repeat("x", 2*longLine) + "ab"} {
		s := compileOrFail(t, "[ax]b$", Options{}).NewSearcher(wide())
		if _, err := s.Search(ctx, strings.NewReader(text)); !errors.Is(err, broken) {
			t.Errorf("cancelled: %v", err)
		}
	}
}

func FuzzSearch(f *testing.F) {
	f.Add(`a(b|c)+$`, "xabc\nab\r\n\xffb", 3)
	f.Add(`\bfoo\b`, "foo\nfood\n", 1)
	f.Fuzz(func(t *testing.T, pattern, text string, size int) {
		oracle, err := regexp.Compile(pattern)
		if err != nil || strings.Contains(text, "\r") || strings.Contains(text, "\x00") || len(pattern) > 200 || len(text) > 5000 {
			return
		}
		p, err := Compile(pattern, Options{})
		if err != nil || strings.Contains(pattern, "(?") {
			return
		}
		s := p.NewSearcher(wide())
		s.buffer = make([]byte, 1+max(size, -size)%100)
		if diff := cmp.Diff(expected(oracle, text), search(t, s, strings.NewReader(text))); diff != "" {
			t.Errorf("%q in %q: %s", pattern, text, diff)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "\tif err := source.Read(ctx, part%d); err != nil { return fmt.Errorf(\"read %%d: %%w\", %d, err) }\n", i, i)
	}
	for name, pattern := range map[string]string{"literal": "needle", "automaton": `[A-Z]\w+Error\b\(`, "fold": "(?i)needle|pin", "prefix": `read \w+`} {
		b.Run(name, func(b *testing.B) {
			limits := wide()
			limits.Matches = 1
			s := compileOrFail(b, pattern, Options{}).NewSearcher(limits)
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				if _, err := s.Search(b.Context(), strings.NewReader(text.String())); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
