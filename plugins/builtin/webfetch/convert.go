package main

import (
	"strconv"
	"strings"
)

// convert makes Markdown of a page, or text without any marks. Truncated says that
// it is longer than maxText.
func convert(page, address string, plain bool) (text, title string, truncated bool) {
	o := look(page, address)
	c := &converter{outline: o, plain: plain, writer: &writer{}}
	s := scanner{page: o.main}
	for !c.full {
		found, ok := s.next()
		if !ok {
			break
		}
		switch {
		case c.skipped(found):
		case found.kind == words:
			c.text(found.body)
		case found.kind == start:
			c.begin(found)
		default:
			c.end(found.name)
		}
	}
	c.finish()
	text = strings.TrimSpace(c.out.String())
	if first, _, _ := strings.Cut(text, "\n"); o.title != "" && strings.TrimLeft(first, "# ") != o.title {
		heading := "# " + o.title
		if plain {
			heading = o.title
		}
		text = heading + "\n\n" + text
	}
	return text, o.title, c.full
}

// converter goes over the tokens of a page once.
type converter struct {
	outline
	*writer
	plain bool

	skip  string // the element that is left out, "" for none
	depth int    // of elements of its name in it

	marks []mark
	links int // open, at most one
	inner int // blocks that are open in the link
	lists []list
	pre   *preformatted
	code  *strings.Builder // of a piece of code in a line
	table *table
}

// list is an open list; Next is the number of an ordered one, 0 for others.
type list struct{ next int }

// skipped takes the tokens of elements that are left out.
func (c *converter) skipped(t token) bool {
	if c.skip != "" {
		switch {
		case t.name != c.skip || t.kind == words:
		case t.kind == start:
			c.depth++
		default:
			if c.depth--; c.depth == 0 {
				c.skip = ""
			}
		}
		return true
	}
	if t.kind != start || !leftOut[t.name] || c.never[t.name] || strings.HasSuffix(t.body, "/") {
		return false
	}
	c.skip, c.depth = t.name, 1
	return true
}

func (c *converter) text(body string) {
	body = unescape(body)
	switch {
	case c.pre != nil:
		c.pre.text.WriteString(body)
	case c.code != nil:
		c.code.WriteString(body)
	case strings.Trim(body, " \t\r\n\f") == "":
		c.space = true
	default:
		inner := strings.TrimLeft(body, " \t\r\n\f")
		c.space = c.space || len(inner) < len(body)
		c.openMarks()
		c.words(inner)
	}
}

// begin takes the start of an element.
func (c *converter) begin(t token) {
	if c.pre != nil {
		c.pre.begin(t)
		return
	}
	c.unfold(t.name)
	c.beginBlock(t.name)
	switch t.name {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		c.newBlock()
		if !c.plain && c.inBlocks() {
			c.lead = strings.Repeat("#", int(t.name[1]-'0')) + " "
		}
	case "p", "section", "article", "header", "main", "aside", "figure", "address", "fieldset", "form", "dl", "hgroup", "details":
		c.newBlock()
	case "div", "dt", "dd", "summary", "figcaption", "caption", "option", "legend":
		c.newLine()
	case "br":
		c.newLine()
	case "hr":
		c.newBlock()
		if c.inBlocks() {
			c.raw("---")
			c.block()
		}
	case "ul", "ol", "menu":
		c.beginList(t)
	case "li":
		c.beginItem()
	case "blockquote":
		c.newBlock()
		c.push(level{indent: c.quotation()})
	case "pre":
		c.newBlock()
		c.pre = newPreformatted(t)
	case "code", "kbd", "samp", "tt":
		if c.code == nil {
			c.code = &strings.Builder{}
		}
	case "strong", "b", "em", "i", "del", "s", "a":
		c.beginMark(t)
	case "img":
		c.image(t)
	case "table", "tr", "td", "th":
		c.beginTable(t)
	}
}

// end takes the end of one.
func (c *converter) end(name string) {
	if c.pre != nil {
		if name == "pre" {
			c.endPre()
		}
		return
	}
	c.endBlock(name)
	switch name {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		c.lead = ""
		c.newBlock()
	case "p", "section", "article", "header", "main", "aside", "figure", "address", "fieldset", "form", "dl", "hgroup", "details":
		c.newBlock()
	case "div", "dt", "dd", "summary", "figcaption", "caption", "legend":
		c.newLine()
	case "ul", "ol", "menu":
		c.endList()
	case "li":
		c.endItem()
	case "blockquote":
		c.newBlock()
		c.unquote()
	case "code", "kbd", "samp", "tt":
		c.endCode()
	case "strong", "b", "em", "i", "del", "s", "a":
		c.endMark(name)
	case "table", "tr", "td", "th":
		c.endTable(name)
	}
}

// inBlocks reports whether lines can end here: not in a link, and not in a cell of a
// table.
func (c *converter) inBlocks() bool { return c.links == 0 && !c.table.inCell() }

func (c *converter) quotation() string {
	if c.plain {
		return ""
	}
	return "> "
}

func (c *converter) newBlock() {
	c.endCode()
	if c.inBlocks() {
		c.closeMarks(0)
		c.block()
		return
	}
	c.space = true
}

func (c *converter) newLine() {
	c.endCode()
	if c.inBlocks() {
		c.line()
		return
	}
	c.space = true
}

func (c *converter) beginList(t token) {
	opened := list{}
	if t.name == "ol" {
		opened.next = 1
		if first, ok := t.attribute("start"); ok {
			if number, err := strconv.Atoi(first); err == nil && number >= 0 && number < 1_000_000 {
				opened.next = number
			}
		}
	}
	if len(c.lists) == 0 {
		c.newBlock()
	} else {
		c.newLine()
	}
	c.lists = append(c.lists, opened)
}

func (c *converter) endList() {
	if len(c.lists) == 0 {
		return
	}
	c.lists = c.lists[:len(c.lists)-1]
	if c.inBlocks() {
		c.unlist()
	}
	if len(c.lists) == 0 {
		c.newBlock()
	} else {
		c.newLine()
	}
}

// beginItem begins a line with a mark. What it is indented by lasts for the line: what
// follows in the item is indented by the depth of its list.
func (c *converter) beginItem() {
	c.closeLink()
	if !c.inBlocks() {
		c.space = true
		return
	}
	c.endCode()
	c.closeMarks(0)
	c.line()
	c.unlist()
	marker := "- "
	if len(c.lists) > 0 {
		if last := &c.lists[len(c.lists)-1]; last.next > 0 {
			marker = strconv.Itoa(last.next) + ". "
			last.next++
		}
	}
	for range min(max(len(c.lists)-1, 0), deepest) {
		marker = "  " + marker
	}
	c.push(level{item: true, indent: strings.Repeat(" ", len(marker)), marker: marker})
}

func (c *converter) endItem() {
	if c.inBlocks() {
		c.closeMarks(0)
		c.line()
		c.unlist()
		return
	}
	c.space = true
}

func (c *converter) image(t token) {
	alternative, _ := t.attribute("alt")
	alternative = strings.Join(strings.Fields(alternative), " ")
	if alternative == "" {
		return
	}
	source, _ := t.attribute("src")
	c.openMarks()
	if address := c.resolve(source); address != "" && !c.plain && c.links == 0 {
		c.words("![" + alternative + "](" + address + ")")
		return
	}
	c.words("[" + alternative + "]")
}

// finish ends what the page did not.
func (c *converter) finish() {
	if c.pre != nil {
		c.endPre()
	}
	c.endCode()
	c.closeMarks(0)
	for c.table != nil {
		c.endTable("table")
	}
}
