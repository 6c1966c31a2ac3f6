package process

import "golang.org/x/sys/unix"

// awaitEnd waits until a child has ended, and does not reap it.
func awaitEnd(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err
		}
	}
}
