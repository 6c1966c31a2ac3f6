package mcp

import "time"

// pace is how long to wait before the next attempt: twice as long each time, up to a
// most. A time of calm begins it anew.
type pace struct {
	first time.Duration
	next  time.Duration
}

// longest is how many times the first wait the last is.
const longest = 300

func (p *pace) wait() time.Duration {
	wait := max(p.next, p.first)
	p.next = min(2*wait, longest*p.first)
	return wait
}

// calm begins anew when all went well for so long.
func (p *pace) calm(since time.Duration) {
	if since >= 60*p.first {
		p.next = 0
	}
}
