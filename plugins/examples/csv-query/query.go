package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// query is an input whose columns are found in a file.
type query struct {
	in         input
	conditions []filter
	shown      []int // columns of the file: those asked for, or those of the groups
	groups     *grouping
	names      []string // of the answer's columns
	order      []ordering
}

// ordering is a column of the answer to sort by.
type ordering struct {
	at         int
	descending bool
}

// plan finds what a query names.
func plan(in input, header []string) (*query, error) {
	q := &query{in: in}
	for i, c := range in.Where {
		filter, err := newFilter(c, i, header)
		if err != nil {
			return nil, err
		}
		q.conditions = append(q.conditions, filter)
	}
	shown, grouped := in.Columns, len(in.GroupBy)+len(in.Aggregate) > 0
	switch {
	case grouped && len(in.Columns) > 0:
		return nil, invalid("columns and group_by stand beside each other; a grouped answer has the columns of group_by and aggregate")
	case grouped:
		shown = in.GroupBy
	case len(shown) == 0:
		shown = header
	}
	for _, name := range shown {
		at, err := column(name, header)
		if err != nil {
			return nil, err
		}
		q.shown, q.names = append(q.shown, at), append(q.names, header[at])
	}
	if grouped {
		var err error
		if q.groups, err = newGrouping(in.Aggregate, header); err != nil {
			return nil, err
		}
		for _, a := range q.groups.aggregates {
			q.names = append(q.names, a.name())
		}
	}
	for _, key := range in.Sort {
		at, err := column(key.Column, q.names)
		if err != nil {
			return nil, err
		}
		q.order = append(q.order, ordering{at, key.Descending})
	}
	return q, nil
}

// column finds a column by its name.
func column(name string, names []string) (int, error) {
	if at := slices.Index(names, name); at >= 0 {
		return at, nil
	}
	return 0, invalid("there is no column %q; there are %s", name, strings.Join(names, ", "))
}

// run reads the file.
func (q *query) run(rows *table) (answer, error) {
	a := answer{Columns: q.names, Rows: [][]string{}}
	kept := 0
	for {
		row, ok, err := rows.next()
		if err != nil {
			return a, err
		}
		if !ok {
			break
		}
		if !q.fits(row) {
			continue
		}
		a.Matched++
		if q.groups != nil {
			err = q.groups.take(q.cells(row), row, rows)
		} else if len(q.order) > 0 || len(a.Rows) < q.in.Limit {
			cells := q.cells(row)
			kept += sizeOf(cells)
			a.Rows = append(a.Rows, cells)
		}
		if err == nil && kept > maxKept {
			err = invalid("more than %d MiB of rows fit; narrow them by where, or by columns", maxKept>>20)
		}
		if err != nil {
			return a, err
		}
	}
	total := a.Matched
	if q.groups != nil {
		a.Rows = q.groups.rows()
		a.Groups, total = len(a.Rows), len(a.Rows)
	}
	slices.SortStableFunc(a.Rows, q.compare)
	a.Rows = a.Rows[:min(len(a.Rows), q.in.Limit)]
	a.More = total > len(a.Rows)
	return a, nil
}

// cells copies what is shown of a row.
func (q *query) cells(row []string) []string {
	cells := make([]string, len(q.shown))
	for i, at := range q.shown {
		cells[i] = strings.Clone(row[at])
	}
	return cells
}

func sizeOf(cells []string) int {
	size := 16 * len(cells)
	for _, cell := range cells {
		size += len(cell)
	}
	return size
}

func (q *query) fits(row []string) bool {
	for _, condition := range q.conditions {
		if !condition.fits(row) {
			return false
		}
	}
	return true
}

func (q *query) compare(a, b []string) int {
	for _, key := range q.order {
		x, y := a[key.at], b[key.at]
		order := compare(x, y)
		if key.descending {
			order = -order
		}
		if (x == "") != (y == "") { // empty cells come last either way
			order = len(y) - len(x)
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

// compare sorts numbers by their value and in front of texts, which it sorts by their bytes.
func compare(a, b string) int {
	x, isX := number(a)
	y, isY := number(b)
	switch {
	case isX && isY:
		return cmp.Compare(x, y)
	case isX:
		return -1
	case isY:
		return 1
	}
	return strings.Compare(a, b)
}

// number reads a cell that is one.
func number(cell string) (float64, bool) {
	cell = strings.TrimSpace(cell)
	if cell == "" || strings.IndexByte("+-.0123456789", cell[0]) < 0 {
		return 0, false // nor is NaN one, or Inf
	}
	value, err := strconv.ParseFloat(cell, 64)
	return value, err == nil
}
