package process

import "golang.org/x/sys/unix"

// dead is the state SZOMB of sys/proc.h.
const dead = 5

// list lists the processes of a process session. One that ends meanwhile may be
// missing.
func list(session int) ([]member, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	var members []member
	for _, p := range all {
		pid := int(p.Proc.P_pid)
		if of, err := unix.Getsid(pid); err != nil || of != session {
			continue
		}
		members = append(members, member{pid: pid, parent: int(p.Eproc.Ppid), group: int(p.Eproc.Pgid), dead: p.Proc.P_stat == dead})
	}
	return members, nil
}
