package main

import "strings"

// mark is an element within a line that has marks around it. They are written with
// its first word, so an empty one leaves nothing behind.
type mark struct {
	name        string
	href        string // of a link
	open, close string
	written     bool
}

// marksOf are the marks of the elements that have the same at both ends.
var marksOf = map[string]string{"strong": "**", "b": "**", "em": "*", "i": "*", "del": "~~", "s": "~~"}

func (c *converter) beginMark(t token) {
	if c.plain || len(c.marks) >= deepest {
		return
	}
	if t.name != "a" {
		c.marks = append(c.marks, mark{name: t.name, open: marksOf[t.name], close: marksOf[t.name]})
		return
	}
	c.closeLink() // one is never in another
	if href, _ := t.attribute("href"); leads(href) {
		c.marks = append(c.marks, mark{name: "a", href: href})
		c.links, c.inner = 1, 0
	}
}

func (c *converter) endMark(name string) {
	for i := len(c.marks) - 1; i >= 0 && i >= len(c.marks)-deepest; i-- {
		if c.marks[i].name == name {
			c.endCode()
			c.closeMarks(i)
			return
		}
	}
}

// openMarks writes the beginnings of those that are open.
func (c *converter) openMarks() {
	for i := range c.marks {
		if m := &c.marks[i]; !m.written {
			m.written = true
			if address := c.resolve(m.href); address != "" {
				m.open, m.close = "[", "]("+address+")"
			}
			if m.open != "" {
				c.raw(m.open)
			}
		}
	}
}

// closeMarks ends those from one on, right behind the last word.
func (c *converter) closeMarks(from int) {
	for i := len(c.marks) - 1; i >= from; i-- {
		if c.marks[i].written {
			c.out.WriteString(c.marks[i].close)
		}
		if c.marks[i].name == "a" {
			c.links = 0
		}
	}
	c.marks = c.marks[:from]
}

func (c *converter) closeLink() {
	for i := range c.marks {
		if c.marks[i].name == "a" {
			c.closeMarks(i)
			return
		}
	}
}

// blocks are the elements that stand in lines of their own.
var blocks = map[string]bool{
	"h1": true, "h2": true, "h3": true, "h4": true, "h5": true, "h6": true, "p": true, "div": true, "section": true, "article": true, "header": true,
	"main": true, "aside": true, "figure": true, "ul": true, "ol": true, "li": true, "blockquote": true, "table": true, "tr": true, "td": true, "th": true, "dl": true, "dt": true, "dd": true,
}

// beginBlock and endBlock see to a link that is not closed: it ends with the block
// that it is in.
func (c *converter) beginBlock(name string) {
	if c.links > 0 && blocks[name] {
		c.inner++
	}
}

func (c *converter) endBlock(name string) {
	switch {
	case c.links == 0 || !blocks[name]:
	case c.inner == 0:
		c.closeLink()
	default:
		c.inner--
	}
}

// endCode writes the piece of code that is open in a line.
func (c *converter) endCode() {
	if c.code == nil {
		return
	}
	code := strings.Join(strings.Fields(c.code.String()), " ")
	c.code = nil
	if code == "" {
		return
	}
	c.openMarks()
	c.raw(c.fenced(code, 1))
}

// fenced puts backticks around code, more than stand in it.
func (c *converter) fenced(code string, least int) string {
	if c.plain {
		return code
	}
	fence := strings.Repeat("`", max(least, longestRun(code)+1))
	if code[0] == '`' || code[len(code)-1] == '`' {
		code = " " + code + " "
	}
	return fence + code + fence
}

// longestRun counts the backticks that stand in a row.
func longestRun(text string) (longest int) {
	run := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// preformatted is an open block whose white space counts.
type preformatted struct {
	language string
	text     strings.Builder
}

func newPreformatted(t token) *preformatted {
	p := &preformatted{}
	p.learn(t)
	return p
}

// learn takes the language from a class like language-go.
func (p *preformatted) learn(t token) {
	class, _ := t.attribute("class")
	for name := range strings.FieldsSeq(class) {
		for _, prefix := range []string{"language-", "lang-", "highlight-source-"} {
			if language, ok := strings.CutPrefix(name, prefix); ok && p.language == "" && len(language) < 20 && !strings.ContainsAny(language, "`~") {
				p.language = language
			}
		}
	}
}

func (p *preformatted) begin(t token) {
	switch t.name {
	case "br":
		p.text.WriteByte('\n')
	case "code":
		p.learn(t)
	}
}

func (c *converter) endPre() {
	text, language := strings.TrimRight(strings.TrimPrefix(strings.TrimPrefix(c.pre.text.String(), "\r"), "\n"), " \t\r\n"), c.pre.language
	c.pre = nil
	switch {
	case text == "":
	case !c.inBlocks():
		c.openMarks()
		c.words(c.fenced(strings.Join(strings.Fields(text), " "), 1))
	case c.plain:
		c.block()
		c.lines(text)
	default:
		fence := strings.Repeat("`", max(3, longestRun(text)+1))
		c.block()
		c.raw(fence + language)
		c.lines(text)
		c.raw(fence)
	}
	c.newBlock()
}
