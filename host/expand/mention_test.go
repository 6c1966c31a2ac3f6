package expand

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestFindMentions is the table of texts and what they mention: the name, and the lines.
func TestFindMentions(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                      nil,
		"nothing":                               nil,
		"@main.go":                              {"main.go"},
		"see @main.go, @src/ and @a/b/c.txt.":   {"main.go", "src/", "a/b/c.txt"},
		"(@main.go)":                            {"main.go"},
		"@app/(group)/page.tsx":                 {"app/(group)/page.tsx"},
		"**@main.go**":                          {"main.go"},
		"what is @main.go?!":                    {"main.go"},
		"@a.go,@b.go;@c.go":                     {"a.go", "b.go;@c.go"},
		"@main.go#L10":                          {"main.go 10-10"},
		"@main.go#L10-40 and":                   {"main.go 10-40"},
		"@main.go#L10-L40.":                     {"main.go 10-40"},
		"@main.go#L0":                           {"main.go 0--1"},
		"@notes#42":                             {"notes#42"},
		`@"with space.txt" too`:                 {"with space.txt"},
		`@"with space.txt"#L2-3, too`:           {"with space.txt 2-3"},
		`@"a.txt"bc`:                            {"a.txt"},
		"@\"not\nclosed\"":                      nil,
		`@""`:                                   nil,
		`\@main.go`:                             nil,
		"me@example.org":                        nil,
		"git@github.com:a/b":                    nil,
		"https://example.org/@user":             nil,
		"https://u:@h":                          {"h"}, // an odd address; write it in quotes
		"`@main.go`":                            nil,
		"`` ` @main.go ``":                      nil,
		"a ` b @main.go":                        {"main.go"},
		"a ` b\n\n@main.go ` c":                 {"main.go"},
		"\\`@x @main.go\\`":                     {"main.go\\"},
		"```\n@main.go\n```\n@b.go":             {"b.go"},
		"```go\n@main.go":                       nil,
		"   ~~~\n@a\n~~~~\n@b":                  {"b"},
		"    ```\n@a":                           {"a"},
		"````\n```\n@a\n````\n@b":               {"b"},
		"it`s\n```\n`@a`\n```\n@b":              {"b"},
		"@.":                                    nil,
		"@..":                                   nil,
		"@../x":                                 {"../x"},
		"@./x":                                  {"./x"},
		"@~/x":                                  {"~/x"},
		"@/etc/passwd":                          {"/etc/passwd"},
		"@ x":                                   nil,
		"@-x":                                   nil,
		"@@x":                                   nil,
		"@häuser.md und @日本語。":                  {"häuser.md", "日本語"},
		"看@日本語":                                 nil,
		"「@a.go」":                               {"a.go"},
		"@a\u202eb":                             {"a\u202eb"},
		"@a\x00b":                               {"a"},
		"@" + strings.Repeat("x", maxMention+1): nil,
	} {
		var got []string
		for _, m := range findMentions(text, 1000) {
			shown := m.name
			if !m.lines.all() {
				shown += fmt.Sprintf(" %d-%d", m.lines.from, m.lines.to)
			}
			got = append(got, shown)
			if text[m.start:m.end] != m.text {
				t.Errorf("%q: %q stands from %d to %d", text, m.text, m.start, m.end)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", clip(text, 100), diff)
		}
	}
}

// TestHostileTexts: a text of a megabyte does not take long, whatever is in it.
func TestHostileTexts(t *testing.T) {
	begun := time.Now()
	for _, part := range []string{"` `` ``` ```` ", "`a``b", "``\n`\n", "``````a`````b```c", "```\n", "```a\n~~~\n", "\\`", "@", "(@", "@a ", ",@a", "@\"", " @\"a", "@a" + strings.Repeat(")", 4000)} {
		findMentions(strings.Repeat(part, 1<<20/len(part)), 65)
	}
	if took := time.Since(begun); took > 45*time.Second { // it is one; what grew with the square took more than a minute
		t.Errorf("it took %s", took)
	}
}

// FuzzFindMentions: whatever the text, mentions are apart, in order, and stand where they
// say; the same text has the same ones; a text of code has none.
func FuzzFindMentions(f *testing.F) {
	for _, seed := range []string{"@main.go", "`@a` @b#L1-2", "```\n@a\n```", `@"a b" \@c`, "@a,@b", "~~~\n`@", "@日本語。", "``` `` ` @x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		end := 0
		found := findMentions(text, 1000)
		for _, m := range found {
			if m.start < end || m.end <= m.start || m.end > len(text) || text[m.start:m.end] != m.text || m.text[0] != '@' {
				t.Fatalf("%q: %+v behind %d", text, m, end)
			}
			if m.name == "" || strings.ContainsAny(m.name, "\"\n") || !utf8.ValidString(m.text) {
				t.Fatalf("%q: %+v", text, m)
			}
			end = m.end
		}
		if diff := cmp.Diff(found, findMentions(text, 1000), cmp.AllowUnexported(mention{}, span{}, lines{})); diff != "" {
			t.Fatal(diff)
		}
		if n := len(findMentions("~~~~~~~~\n"+strings.ReplaceAll(text, "~", "-"), 1000)); n != 0 {
			t.Fatalf("%q: %d mentions in code", text, n)
		}
		end = 0
		for _, code := range codeSpans(text) {
			if code.start < end || code.end <= code.start || code.end > len(text) {
				t.Fatalf("%q: code from %d to %d behind %d", text, code.start, code.end, end)
			}
			end = code.end
		}
	})
}
