package main

import "strings"

// table is an open table. One whose cells hold more than lines is there for the layout
// of the page: its cells are told one after the other.
type table struct {
	above  *table
	rows   [][]string
	row    []string
	outer  *writer // while a cell is open, what the table itself goes to
	layout bool
}

// maxColumns bounds the line below a table's head.
const maxColumns = 64

func (t *table) inCell() bool { return t != nil && t.outer != nil }

// inside are the elements that make a table one for layout.
var inside = map[string]bool{"table": true, "ul": true, "ol": true, "pre": true, "blockquote": true, "h1": true, "h2": true, "h3": true, "h4": true}

func (c *converter) beginTable(t token) {
	switch {
	case t.name == "table":
		c.closeLink()
		c.newBlock()
		c.table = &table{above: c.table}
	case c.table == nil || c.table.layout:
		c.newBlock()
	case t.name == "tr":
		c.endRow()
	default:
		c.endCell()
		c.table.outer, c.writer = c.writer, &writer{}
	}
}

func (c *converter) endTable(name string) {
	switch {
	case c.table == nil || c.table.layout && name != "table":
		c.newBlock()
	case name == "tr":
		c.endRow()
	case name == "table":
		c.endRow()
		c.tell(c.table.rows)
		c.table = c.table.above
		c.newBlock()
	default:
		c.endCell()
	}
}

func (c *converter) endCell() {
	c.endCode()
	c.closeMarks(0)
	if !c.table.inCell() {
		return
	}
	text := strings.TrimSpace(c.out.String())
	c.writer, c.table.outer = c.table.outer, nil
	c.table.row = append(c.table.row, text)
}

func (c *converter) endRow() {
	c.endCell()
	if strings.Join(c.table.row, "") != "" {
		c.table.rows = append(c.table.rows, c.table.row)
	}
	c.table.row = nil
}

// unfold makes the open table one for layout, when an element asks for it.
func (c *converter) unfold(name string) {
	if !c.table.inCell() || !inside[name] {
		return
	}
	c.endRow()
	rows := c.table.rows
	c.table.rows, c.table.layout = nil, true
	for _, row := range rows {
		for _, cell := range row {
			if c.block(); cell != "" {
				c.raw(cell)
			}
		}
	}
	c.block()
}

// tell writes the rows, the first as the head.
func (c *converter) tell(rows [][]string) {
	columns := 0
	for _, row := range rows {
		columns = max(columns, len(row))
	}
	c.block()
	for i, row := range rows {
		c.line()
		if columns == 1 || c.plain {
			if columns == 1 && i > 0 {
				c.block()
			}
			c.raw(strings.Join(row, " | "))
			continue
		}
		for j, cell := range row {
			row[j] = strings.ReplaceAll(cell, "|", `\|`)
		}
		c.raw("| " + strings.Join(row, " | ") + " |")
		if i == 0 {
			c.line()
			c.raw("|" + strings.Repeat("---|", min(columns, maxColumns)))
		}
	}
}
