package process

import (
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sender sends a signal as kill(2) does.
type sender func(pid int, signal syscall.Signal) error

func send(pid int, signal syscall.Signal) error { return unix.Kill(pid, signal) }

// member is a process of a process session.
type member struct {
	pid, parent, group int
	dead               bool // waits to be reaped
}

const (
	// pollEvery is how often it is looked whether the processes have ended.
	pollEvery = 10 * time.Millisecond
	// killWait is how long processes have to vanish after SIGKILL.
	killWait = time.Second
)

// group is the processes of one command: those of the process session that its
// program began. The program must not be reaped before group is done with, so that
// its number means no other process.
type group struct {
	leader int
	signal sender
}

// alive lists the processes that have not ended. It reaps those that the system
// gave to the host because the process that started them is gone, as happens when
// the host is the first process of a container. When the list cannot be had, there
// are none that are known.
func (g group) alive() []member {
	members, err := list(g.leader)
	if err != nil {
		return nil
	}
	for _, m := range members {
		if m.dead && m.pid != g.leader && m.parent == os.Getpid() {
			_, _ = unix.Wait4(m.pid, nil, unix.WNOHANG, nil)
		}
	}
	return slices.DeleteFunc(members, func(m member) bool { return m.dead })
}

// send signals the program's process group at once, so that none of it escapes by a
// fork, and then the other groups of the session, which timeout and shells with job
// control make.
func (g group) send(members []member, signals ...syscall.Signal) {
	groups := []int{g.leader}
	for _, m := range members {
		if m.group > 1 && !slices.Contains(groups, m.group) {
			groups = append(groups, m.group)
		}
	}
	for _, id := range groups {
		for _, signal := range signals {
			_ = g.signal(-id, signal) // who cannot be reached is counted at the end
		}
	}
}

// end ends all that is alive: SIGTERM first when there is a grace, and SIGKILL. It
// answers how many were alive before and how many still are.
func (g group) end(grace time.Duration) (before, after int) {
	members := g.alive()
	before = len(members)
	if before > 0 && grace > 0 {
		// SIGCONT: what is stopped gets SIGTERM only when it goes on.
		g.send(members, unix.SIGTERM, unix.SIGCONT)
		members = g.until(grace, nil)
	}
	g.send(members, unix.SIGKILL)
	if len(members) > 0 {
		g.until(killWait, func(members []member) { g.send(members, unix.SIGKILL) })
	}
	return before, len(g.alive())
}

// until waits until nothing is alive or the time is over, and answers what is. Again,
// when not nil, is called with what is alive at every look.
func (g group) until(wait time.Duration, again func([]member)) []member {
	over := time.NewTimer(wait)
	defer over.Stop()
	look := time.NewTicker(pollEvery)
	defer look.Stop()
	for {
		members := g.alive()
		if len(members) == 0 {
			return nil
		}
		if again != nil {
			again(members)
		}
		select {
		case <-look.C:
		case <-over.C:
			return g.alive()
		}
	}
}
