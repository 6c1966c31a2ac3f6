package share

import (
	"fmt"
	"io"
	"strings"
)

// markdown writes what was said as quotations, so that no message can look like another
// one, and what tools took and gave as code.
type markdown struct{ to io.Writer }

func (m *markdown) begin(h head) error {
	_, err := fmt.Fprintf(m.to, "# %s\n\n%s, %s, %s\n", inline(h.Title), h.Created, inline(h.Agent), inline(h.Model))
	return err
}

func (m *markdown) entry(e Entry) error {
	var text strings.Builder
	fmt.Fprintf(&text, "\n## %s", e.Role)
	for _, detail := range []string{e.Agent, e.Model, date(e.Created.UnixMilli())} {
		if detail != "" {
			text.WriteString(", " + inline(detail))
		}
	}
	text.WriteString("\n")
	for _, part := range e.Parts {
		part.markdown(&text)
	}
	if e.Error != "" {
		text.WriteString("\n" + quote("**failed:** "+e.Error))
	}
	_, err := io.WriteString(m.to, text.String())
	return err
}

func (m *markdown) end() error { return nil }

func (p Part) markdown(to *strings.Builder) {
	switch p.Kind {
	case KindText:
		to.WriteString("\n" + quote(p.Text))
	case KindReasoning:
		to.WriteString("\nreasoning:\n\n" + quote(p.Text))
	case KindTask:
		fmt.Fprintf(to, "\ntask for %s: %s\n", inline(p.Text), inline(p.Title))
	case KindFile:
		fmt.Fprintf(to, "\nfile: %s (%s, %d bytes)\n", inline(p.Name), inline(p.Mime), p.Size)
	case KindTool:
		fmt.Fprintf(to, "\ntool: %s", inline(p.Tool))
		if p.Title != "" {
			to.WriteString(": " + inline(p.Title))
		}
		if p.State != "" {
			to.WriteString(" (" + inline(p.State) + ")")
		}
		to.WriteString("\n")
		for _, block := range []string{p.Input, p.Text, p.Error} {
			if block != "" {
				to.WriteString("\n" + fence(block))
			}
		}
	}
}

// quote is the text as a quotation, with what could be a tag told as text.
func quote(text string) string {
	var quoted strings.Builder
	for line := range strings.Lines(lines(text)) {
		quoted.WriteString("> " + harmless(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return quoted.String()
}

func harmless(text string) string { return strings.ReplaceAll(text, "<", "&lt;") }

// inline is a text on one line without any markup.
func inline(text string) string {
	var plain strings.Builder
	for _, r := range harmless(strings.Join(strings.Fields(text), " ")) {
		if strings.ContainsRune("\\`*_[]()#!|~", r) {
			plain.WriteByte('\\')
		}
		plain.WriteRune(r)
	}
	return plain.String()
}

// fence is the text as code, between marks that it does not have itself.
func fence(text string) string {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return mark + "\n" + strings.TrimSuffix(lines(text), "\n") + "\n" + mark + "\n"
}

// lines makes every line break one that Markdown and Go agree on.
func lines(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}
