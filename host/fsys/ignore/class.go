package ignore

import "strings"

// parseClass reads a set of bytes from its "[" on and answers how long it is.
func parseClass(pattern string) (set *[256]bool, length int, ok bool) {
	c := classReader{pattern: pattern, at: 1}
	negated := c.at < len(pattern) && (pattern[c.at] == '!' || pattern[c.at] == '^')
	if negated {
		c.at++
	}
	for first := true; ; first = false {
		if c.at >= len(pattern) {
			return nil, 0, false
		}
		if pattern[c.at] == ']' && !first {
			break
		}
		if !c.item() {
			return nil, 0, false
		}
	}
	if negated {
		for i := range c.set {
			c.set[i] = !c.set[i]
		}
	}
	return &c.set, c.at + 1, true
}

// classReader is in the middle of a set.
type classReader struct {
	pattern string
	at      int
	last    byte // what a range could begin with; 0 for nothing
	set     [256]bool
}

// item reads one byte, range or named class.
func (c *classReader) item() bool {
	rest := c.pattern[c.at:]
	switch {
	case strings.HasPrefix(rest, "[:"):
		if end := strings.IndexByte(rest[2:], ']'); end < 0 {
			return false
		} else if name, closed := strings.CutSuffix(rest[2:2+end], ":"); closed {
			c.at += end + 3
			c.last = 0
			return c.named(name)
		}
	case rest[0] == '-' && c.last != 0 && len(rest) > 1 && rest[1] != ']':
		c.at++
		high, ok := c.one()
		for b := int(c.last); b <= int(high); b++ {
			c.set[b] = true
		}
		c.last = 0
		return ok
	}
	single, ok := c.one()
	c.set[single] = true
	c.last = single
	return ok
}

// one reads a byte that a backslash may protect.
func (c *classReader) one() (byte, bool) {
	if c.pattern[c.at] == '\\' {
		c.at++
	}
	if c.at >= len(c.pattern) {
		return 0, false
	}
	c.at++
	return c.pattern[c.at-1], true
}

// named adds a class such as [:alpha:], of ASCII.
func (c *classReader) named(name string) bool {
	const (
		lower   = "abcdefghijklmnopqrstuvwxyz"
		upper   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		digit   = "0123456789"
		control = "\x00\x01\x02\x03\x04\x05\x06\a\b\t\n\v\f\r\x0e\x0f" +
			"\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f"
		punct = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	)
	members, ok := map[string]string{
		"alnum": lower + upper + digit, "alpha": lower + upper, "blank": " \t", "cntrl": control,
		"digit": digit, "graph": lower + upper + digit + punct, "lower": lower,
		"print": lower + upper + digit + punct + " ", "punct": punct, "space": " \t\n\v\f\r",
		"upper": upper, "xdigit": digit + "abcdefABCDEF",
	}[name]
	for _, b := range []byte(members) {
		c.set[b] = true
	}
	return ok
}
