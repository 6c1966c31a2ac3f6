package fsys_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// watchOpens reports, when asked, whether anything in some folders has been opened
// since: the system itself is the witness.
func watchOpens(t testing.TB, folders ...string) (opened func() bool) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	for _, folder := range folders {
		if _, err := unix.InotifyAddWatch(fd, folder, unix.IN_OPEN); err != nil {
			t.Fatal(err)
		}
	}
	return func() bool {
		_, err := unix.Read(fd, make([]byte, 4096))
		return !errors.Is(err, unix.EAGAIN)
	}
}
