package session

// Owned counts the sessions of which something is kept.
func (c *Coordinator) Owned() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.owned)
}
