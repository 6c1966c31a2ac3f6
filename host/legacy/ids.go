package legacy

import (
	"crypto/sha256"
	"fmt"

	"github.com/plinthhost/plinth/session"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newID is the id here of what has the old one there: that itself where it is one here
// too, else one made of it and of its time, the same whenever it is made.
func newID(prefix, old string, milliseconds int64) string {
	if session.CheckID(prefix, old) == nil {
		return old
	}
	sum := sha256.Sum256([]byte("plinth.v1/" + prefix + old))
	tail := make([]byte, 14)
	for i := range tail {
		tail[i] = base62[int(sum[i+2])%len(base62)]
	}
	return fmt.Sprintf("%s%012x%x%s", prefix, milliseconds&(1<<48-1), sum[:2], tail)
}
