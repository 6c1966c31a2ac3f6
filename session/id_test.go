package session

import (
	"errors"
	"sync"
	"testing"
	"time"
)

// steppingClock answers its instants one after the other, then the last for ever.
type steppingClock struct {
	mu       sync.Mutex
	instants []int64
}

func (c *steppingClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.instants[0]
	if len(c.instants) > 1 {
		c.instants = c.instants[1:]
	}
	return time.UnixMilli(now)
}

func TestIDsAscendAlsoWhenTheClockStepsBack(t *testing.T) {
	ids := NewIDs(&steppingClock{instants: []int64{1_000_000, 1_000_000, 999_000, 1, 1_000_001}})
	last := ""
	for range 70_000 { // more than the 16-bit counter holds
		id := ids.New(PrefixMessage)
		if err := CheckID(PrefixMessage, id); err != nil {
			t.Fatal(err)
		}
		if ordered := id[:len(PrefixMessage)+16]; ordered <= last {
			t.Fatalf("%s does not come after %s", ordered, last)
		} else {
			last = ordered
		}
	}
}

func TestCheckIDRefuses(t *testing.T) {
	good := NewIDs(SystemClock{}).New(PrefixMessage)
	for name, id := range map[string]string{
		"empty": "", "other prefix": "ses_" + good[4:], "short": good[:20], "long": good + "a",
		"upper hex": "msg_ABCDEF012345" + good[16:], "slash": good[:len(good)-1] + "/", "space": good[:len(good)-1] + " ",
	} {
		if err := CheckID(PrefixMessage, id); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: CheckID(%q) = %v, want ErrInvalid", name, id, err)
		}
	}
}
