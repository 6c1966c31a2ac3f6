package session

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Prefixes of the ids.
const (
	PrefixSession    = "ses_"
	PrefixMessage    = "msg_"
	PrefixEvent      = "evt_"
	PrefixPermission = "per_"
	PrefixActivity   = "act_"
)

const (
	idTimeDigits   = 12 // 48 bits of milliseconds
	idCountDigits  = 4  // 16 bits of counter
	idRandomDigits = 14
	idLength       = idTimeDigits + idCountDigits + idRandomDigits
	base62         = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// IDs makes ids that ascend within a process, also when the clock steps back.
// They order a listing by creation; chronology is always by sequence.
type IDs struct {
	clock Clock

	mu    sync.Mutex
	last  int64 // milliseconds of the id made last; never decreases
	count uint16
}

// NewIDs makes a generator that reads the given clock.
func NewIDs(clock Clock) *IDs { return &IDs{clock: clock} }

// New makes an id with the prefix.
func (g *IDs) New(prefix string) string {
	ms, count := g.tick()
	var tail [idRandomDigits]byte
	rand.Read(tail[:]) // never fails
	for i, b := range tail {
		// 256 is no multiple of 62; the bias is harmless, the ids are no secrets.
		tail[i] = base62[int(b)%len(base62)]
	}
	return fmt.Sprintf("%s%012x%04x%s", prefix, ms&(1<<48-1), count, tail[:])
}

func (g *IDs) tick() (ms int64, count uint16) {
	now := g.clock.Now().UnixMilli()
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

// CheckID reports what is wrong with an id that a client supplied, or nil.
func CheckID(prefix, id string) error {
	rest, ok := strings.CutPrefix(id, prefix)
	if !ok || len(rest) != idLength {
		return fmt.Errorf("%w: %q is not an id of the form %s and %d characters", ErrInvalid, clip(id), prefix, idLength)
	}
	for i := range len(rest) {
		digits := base62
		if i < idTimeDigits+idCountDigits {
			digits = "0123456789abcdef"
		}
		if strings.IndexByte(digits, rest[i]) < 0 {
			return fmt.Errorf("%w: %q has the character %q at %d; %s ids are 16 lower-case hex digits and 14 letters or digits",
				ErrInvalid, clip(id), rest[i], len(prefix)+i, prefix)
		}
	}
	return nil
}

// maxName bounds the name of an agent, a reference, a variant or a tool, in bytes.
const maxName = 64

// checkName refuses what no configuration, manifest or tool server can have named.
func checkName(field, name string) error {
	valid := name != "" && len(name) <= maxName
	for i := 0; valid && i < len(name); i++ {
		c := name[i]
		valid = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || i > 0 && (c == '_' || c == '-' || c == '.')
	}
	if !valid {
		return fmt.Errorf("%w: %s is %q; a name has 1 to %d letters, digits, _, - and ., and begins with a letter or digit",
			ErrInvalid, field, clip(name), maxName)
	}
	return nil
}

func clip(text string) string {
	if len(text) <= 64 {
		return text
	}
	cut := 64
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// SystemClock is the machine's clock.
type SystemClock struct {
	// Zone is the user's time zone; nil for the machine's.
	Zone *time.Location
}

// Now answers the time in the zone.
func (c SystemClock) Now() time.Time {
	if c.Zone == nil {
		return time.Now()
	}
	return time.Now().In(c.Zone)
}
