package main

import "strings"

// filter is a condition whose column was found.
type filter struct {
	at    int
	holds func(cell string) bool
}

func (f filter) fits(row []string) bool { return f.holds(row[f.at]) }

// operators are what a condition may say, in the order in which they are told.
const operators = "=, !=, <, <=, >, >=, contains, starts"

func newFilter(c condition, index int, header []string) (filter, error) {
	at, err := column(c.Column, header)
	if err != nil {
		return filter{}, err
	}
	value := c.Value
	holds := map[string]func(string) bool{
		"=":        func(cell string) bool { return equal(cell, value) },
		"!=":       func(cell string) bool { return !equal(cell, value) },
		"<":        func(cell string) bool { return alike(cell, value) && compare(cell, value) < 0 },
		"<=":       func(cell string) bool { return alike(cell, value) && compare(cell, value) <= 0 },
		">":        func(cell string) bool { return alike(cell, value) && compare(cell, value) > 0 },
		">=":       func(cell string) bool { return alike(cell, value) && compare(cell, value) >= 0 },
		"contains": func(cell string) bool { return strings.Contains(strings.ToLower(cell), strings.ToLower(value)) },
		"starts":   func(cell string) bool { return strings.HasPrefix(strings.ToLower(cell), strings.ToLower(value)) },
	}[c.Op]
	if holds == nil {
		return filter{}, invalid("where[%d].op is %q; it is one of %s", index, c.Op, operators)
	}
	return filter{at, holds}, nil
}

// equal holds 1 and 1.0 for the same.
func equal(cell, value string) bool {
	return cell == value || alike(cell, value) && compare(cell, value) == 0
}

// alike reports whether two cells can be compared: both are numbers, or neither.
func alike(a, b string) bool {
	_, isA := number(a)
	_, isB := number(b)
	return isA == isB
}
