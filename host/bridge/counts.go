package bridge

import (
	"errors"
	"maps"
	"sync"

	abi "github.com/plinthhost/plinth/abi/v1"
)

// Counts is what a plugin has asked of the host. The zero value is ready. It is safe
// for use by several goroutines.
type Counts struct {
	mu  sync.Mutex
	all map[string]Count
}

// Count is how often an operation was asked for, and what became of it.
type Count struct {
	Made   int64 `json:"made"`
	Denied int64 `json:"denied,omitempty"`
	Failed int64 `json:"failed,omitempty"` // for any other reason
}

func (c *Counts) add(operation string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]Count{}
	}
	count := c.all[operation]
	count.Made++
	told := &abi.Error{}
	switch {
	case err == nil:
	case errors.As(wireError(err), &told) && told.Kind == abi.KindDenied:
		count.Denied++
	default:
		count.Failed++
	}
	c.all[operation] = count
}

// All answers a copy, by operation.
func (c *Counts) All() map[string]Count {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[string]Count, len(c.all))
	maps.Copy(all, c.all)
	return all
}
