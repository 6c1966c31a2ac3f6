package schema

import (
	"crypto/sha256"
	"fmt"
	"sync"
)

// MaxCached is how many schemas a Cache keeps.
const MaxCached = 512

// Cache compiles every schema once, for values whose schema comes with them as
// text. It keeps MaxCached of them and drops the oldest. The zero value is ready;
// it is safe for concurrent use.
type Cache struct {
	mu       sync.Mutex
	compiled map[[sha256.Size]byte]*Schema
	order    [][sha256.Size]byte // a ring once it is full
	oldest   int                 // in order
}

// Check holds a JSON value to a schema. The error is a *MismatchError when the
// value does not fit, and never one when the schema itself is wrong.
func (c *Cache) Check(text, value []byte) error {
	schema, err := c.schema(text)
	if err != nil {
		return fmt.Errorf("compile schema: %v", err)
	}
	return schema.Check(value)
}

// schema answers the compiled text. Two callers may compile the same text at once;
// the first one's is kept.
func (c *Cache) schema(text []byte) (*Schema, error) {
	digest := sha256.Sum256(text)
	c.mu.Lock()
	known := c.compiled[digest]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	fresh, err := Compile(text)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.compiled[digest]; known != nil {
		return known, nil
	}
	c.keep(digest, fresh)
	return fresh, nil
}

// keep makes room if it must. c.mu is held.
func (c *Cache) keep(digest [sha256.Size]byte, schema *Schema) {
	if c.compiled == nil {
		c.compiled = map[[sha256.Size]byte]*Schema{}
	}
	if len(c.order) < MaxCached {
		c.order = append(c.order, digest)
	} else {
		delete(c.compiled, c.order[c.oldest])
		c.order[c.oldest] = digest
		c.oldest = (c.oldest + 1) % MaxCached
	}
	c.compiled[digest] = schema
}
