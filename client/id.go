package client

import (
	"crypto/rand"
	"fmt"
	"sync"
	"time"
)

// IDs makes ids the way the host does, so that a prompt or the creation of a session
// can be repeated under its id. Its zero value is ready; it may be used by many goroutines.
type IDs struct {
	mu    sync.Mutex
	last  int64 // milliseconds of the id made last; never decreases
	count uint16
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Message makes the id of a prompt. The ids that one IDs makes ascend.
func (g *IDs) Message() string { return g.make("msg_") }

// Session makes the id of a session.
func (g *IDs) Session() string { return g.make("ses_") }

// make answers the prefix, 48 bits of milliseconds and a 16-bit counter as hex, and 14
// random characters.
func (g *IDs) make(prefix string) string {
	ms, count := g.tick(time.Now().UnixMilli())
	var tail [14]byte
	rand.Read(tail[:]) // never fails
	for i, b := range tail {
		tail[i] = base62[int(b)%len(base62)] // the small bias is harmless: ids are no secrets
	}
	return fmt.Sprintf("%s%012x%04x%s", prefix, ms&(1<<48-1), count, tail[:])
}

// tick answers a pair greater than every one before, also when the clock steps back.
func (g *IDs) tick(now int64) (ms int64, count uint16) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case now > g.last:
		g.last, g.count = now, 0
	case g.count == 1<<16-1:
		g.last, g.count = g.last+1, 0
	default:
		g.count++
	}
	return g.last, g.count
}
