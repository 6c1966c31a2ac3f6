package memory

// span is the bytes [from, to) of a memory, whole pages of the system.
type span struct{ from, to int }

// within cuts a span to [from, to); it may be empty.
func (s span) within(from, to int) span {
	s.from, s.to = max(s.from, from), min(s.to, to)
	s.to = max(s.from, s.to)
	return s
}

func (s span) length() int { return s.to - s.from }

func total(spans []span) int {
	n := 0
	for _, s := range spans {
		n += s.length()
	}
	return n
}

// totalFrom counts what lies at from and beyond.
func totalFrom(spans []span, from int) int {
	n := 0
	for _, s := range spans {
		n += max(0, s.to-max(s.from, from))
	}
	return n
}

// below drops from ordered spans what lies at end and beyond.
func below(spans []span, end int) []span {
	for len(spans) > 0 {
		last := &spans[len(spans)-1]
		if last.from < end {
			last.to = min(last.to, end)
			break
		}
		spans = spans[:len(spans)-1]
	}
	return spans
}

// add appends a page to ordered spans.
func add(spans []span, from, to int) []span {
	if n := len(spans); n > 0 && spans[n-1].to == from {
		spans[n-1].to = to
		return spans
	}
	return append(spans, span{from, to})
}
