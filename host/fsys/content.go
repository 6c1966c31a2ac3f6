package fsys

import (
	"io"

	"golang.org/x/sys/unix"
)

// content reads a descriptor from its beginning.
type content struct {
	fd   int
	rest int64 // what is still to come; negative when that is not known
}

func (c *content) Read(p []byte) (n int, err error) {
	err = again(func() error { n, err = unix.Read(c.fd, p); return err })
	switch {
	case err != nil:
		return 0, err
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	case c.rest >= 0:
		// A file that grows meanwhile is read as far as it went at first, which
		// saves the system call that would find its end.
		if c.rest -= int64(n); c.rest <= 0 {
			return n, io.EOF
		}
	}
	return n, nil
}

// read answers the whole of a small regular file, false when it is none.
func (d directory) read(name string, limit int64) ([]byte, bool) {
	fd, stat, err := d.regular(name)
	if err != nil {
		return nil, false
	}
	defer unix.Close(fd)
	if stat.Size > limit {
		return nil, false
	}
	data, err := io.ReadAll(io.LimitReader(&content{fd: fd, rest: -1}, limit))
	return data, err == nil
}
