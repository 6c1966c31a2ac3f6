package process

import (
	"errors"

	"golang.org/x/sys/unix"
)

// awaitEnd waits until a child has ended, and does not reap it. The waitid of macOS
// also answers for a child that is stopped, so a queue is asked.
func awaitEnd(pid int) error {
	queue, err := unix.Kqueue()
	if err != nil {
		return err
	}
	defer unix.Close(queue)
	unix.CloseOnExec(queue)
	change := unix.Kevent_t{Fflags: unix.NOTE_EXIT}
	unix.SetKevent(&change, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	changes, events := []unix.Kevent_t{change}, make([]unix.Kevent_t, 1)
	for {
		n, err := unix.Kevent(queue, changes, events, nil)
		switch {
		case errors.Is(err, unix.ESRCH): // it has ended before
			return nil
		case err == unix.EINTR:
		case err != nil:
			return err
		case n == 1 && events[0].Flags&unix.EV_ERROR != 0:
			if unix.Errno(events[0].Data) == unix.ESRCH {
				return nil
			}
			return unix.Errno(events[0].Data)
		case n == 1:
			return nil
		}
	}
}
