package main

import (
	"slices"
	"strconv"
	"strings"
)

// functions are those of an aggregate, in the order in which they are told.
const functions = "count, sum, min, max, avg"

// grouping makes one row of all rows that have the same cells.
type grouping struct {
	aggregates []aggregate
	at         []int // the column of each aggregate; -1 for none
	groups     map[string]*group
	order      []*group // as they came
	kept       int
}

// group has the cells that its rows share, and what is gathered of them.
type group struct {
	cells []string
	sums  []sum
}

// sum gathers one aggregate of a group.
type sum struct {
	count int
	total float64
	least string
	most  string
	has   bool
}

func newGrouping(aggregates []aggregate, header []string) (*grouping, error) {
	if len(aggregates) == 0 {
		aggregates = []aggregate{{Function: "count"}}
	}
	g := &grouping{aggregates: aggregates, groups: map[string]*group{}}
	for i, a := range aggregates {
		if !slices.Contains(strings.Split(functions, ", "), a.Function) {
			return nil, invalid("aggregate[%d].function is %q; it is one of %s", i, a.Function, functions)
		}
		at := -1
		if a.Column != "" {
			var err error
			if at, err = column(a.Column, header); err != nil {
				return nil, err
			}
		} else if a.Function != "count" {
			return nil, invalid("aggregate[%d] has no column; %s needs one", i, a.Function)
		}
		g.at = append(g.at, at)
	}
	return g, nil
}

// take puts a row into its group.
func (g *grouping) take(cells, row []string, rows *table) error {
	var key strings.Builder
	for _, cell := range cells {
		key.WriteString(strconv.Itoa(len(cell)) + ":" + cell)
	}
	one := g.groups[key.String()]
	if one == nil {
		one = &group{cells: cells, sums: make([]sum, len(g.at))}
		g.groups[key.String()] = one
		g.order = append(g.order, one)
		if g.kept += 2*key.Len() + 128*len(g.at) + 64; g.kept > maxKept {
			return invalid("there are more than %d groups; group by less, or narrow the rows by where", len(g.order)-1)
		}
	}
	for i, at := range g.at {
		if at < 0 {
			one.sums[i].count++
			continue
		}
		if err := one.sums[i].take(g.aggregates[i], row[at], rows); err != nil {
			return err
		}
	}
	return nil
}

// take adds a cell; empty ones count for nothing.
func (s *sum) take(a aggregate, cell string, rows *table) error {
	if strings.TrimSpace(cell) == "" {
		return nil
	}
	s.count++
	switch a.Function {
	case "sum", "avg":
		value, ok := number(cell)
		if !ok {
			return invalid("%s line %d: %q in %s is no number, which %s needs; leave such rows out by where", rows.name, rows.line(), clip(cell), a.Column, a.Function)
		}
		s.total += value
	case "min":
		if !s.has || compare(cell, s.least) < 0 {
			s.least = strings.Clone(cell)
		}
	case "max":
		if !s.has || compare(cell, s.most) > 0 {
			s.most = strings.Clone(cell)
		}
	}
	s.has = true
	return nil
}

// text is the cell of the answer; empty where there is nothing to tell of.
func (s *sum) text(function string) string {
	switch {
	case function == "count":
		return strconv.Itoa(s.count)
	case !s.has:
		return ""
	case function == "sum":
		return decimal(s.total)
	case function == "avg":
		return decimal(s.total / float64(s.count))
	case function == "min":
		return s.least
	}
	return s.most
}

// decimal writes a number without the digits that only come from its being binary.
func decimal(value float64) string {
	const digits = 12
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(value, 'g', digits, 64), 64)
	if err != nil {
		rounded = value
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// rows are the groups as rows of the answer. Without columns to group by there is one,
// also of no rows.
func (g *grouping) rows() [][]string {
	if len(g.order) == 0 {
		return [][]string{}
	}
	rows := make([][]string, len(g.order))
	for i, one := range g.order {
		row := slices.Clone(one.cells)
		for j := range one.sums {
			row = append(row, one.sums[j].text(g.aggregates[j].Function))
		}
		rows[i] = row
	}
	return rows
}
