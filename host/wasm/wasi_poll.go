package wasm

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// Sizes and kinds of poll_oneoff's records.
const (
	subscriptionBytes = 48
	eventBytes        = 32
	maxSubscriptions  = 64

	eventClock       = 0
	clockIsAbsolute  = 1
	nothingToWaitFor = time.Duration(math.MaxInt64)
)

// subscription is one thing a guest waits for.
type subscription struct {
	user  uint64
	kind  byte
	wait  time.Duration // of a clock
	errno errno         // set when there is nothing to wait for
}

// pollOneoff sleeps until the first of its clocks; the call's end stops the
// guest. A subscription to a descriptor is answered at once: there is none.
func pollOneoff(c *call, memory api.Memory, stack []uint64) errno {
	from, to, count, result := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	if count == 0 || count > maxSubscriptions {
		return errnoInval
	}
	table, ok := memory.Read(from, count*subscriptionBytes)
	if !ok {
		return errnoFault
	}
	subscriptions := make([]subscription, 0, count)
	wait := nothingToWaitFor
	for ; len(table) > 0; table = table[subscriptionBytes:] {
		s := c.subscription(table)
		subscriptions = append(subscriptions, s)
		wait = min(wait, s.wait)
	}
	c.sleep(wait)
	events := make([]byte, 0, count*eventBytes)
	for _, s := range subscriptions {
		if s.wait <= wait {
			events = s.appendEvent(events)
		}
	}
	if !memory.Write(to, events) || !memory.WriteUint32Le(result, uint32(len(events)/eventBytes)) {
		return errnoFault
	}
	return errnoSuccess
}

func (c *call) subscription(record []byte) subscription {
	s := subscription{user: binary.LittleEndian.Uint64(record), kind: record[8]}
	if s.kind != eventClock {
		s.errno = errnoBadf
		return s
	}
	now, ok := c.now(binary.LittleEndian.Uint32(record[16:]))
	if !ok {
		s.errno = errnoInval
		return s
	}
	timeout := binary.LittleEndian.Uint64(record[24:])
	if binary.LittleEndian.Uint16(record[40:])&clockIsAbsolute != 0 {
		timeout -= min(timeout, now)
	}
	s.wait = time.Duration(min(timeout, uint64(nothingToWaitFor)))
	return s
}

func (s subscription) appendEvent(events []byte) []byte {
	events = binary.LittleEndian.AppendUint64(events, s.user)
	events = binary.LittleEndian.AppendUint16(events, uint16(s.errno))
	events = append(events, s.kind)
	return append(events, make([]byte, eventBytes-11)...)
}

// sleep waits without a processor, or stops the guest when its call ends first.
func (c *call) sleep(wait time.Duration) {
	if wait <= 0 || !c.ambient.Sleep(wait) {
		return
	}
	left := c.watch.left(time.Now())
	c.processor.release()
	c.running = false
	timer := time.NewTimer(min(wait, left))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.parent.Done():
	}
	if err := c.ended(time.Now()); err != nil {
		c.stop(err)
	}
	c.waitTurn(c.processor.acquire)
}
