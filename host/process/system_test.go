package process

import (
	"golang.org/x/sys/unix"
)

func mkfifo(path string) error { return unix.Mkfifo(path, 0o600) }

// alive says whether a process of the test's user runs. One that waits to be reaped
// does not.
func alive(pid int) bool {
	session, err := unix.Getsid(pid)
	if err != nil {
		return false
	}
	members, err := list(session)
	if err != nil {
		return true
	}
	for _, m := range members {
		if m.pid == pid {
			return !m.dead
		}
	}
	return false
}

// children reaps children that have ended, and answers how many there are.
func children() int {
	n := 0
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if err != nil || pid == 0 && n > 0 {
			return n
		}
		n++
		if pid == 0 {
			return n // one that still runs
		}
	}
}
