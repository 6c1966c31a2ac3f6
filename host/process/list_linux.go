package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// list lists the processes of a process session. One that ends meanwhile may be
// missing.
func list(session int) ([]member, error) {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var members []member
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if of, err := unix.Getsid(pid); err != nil || of != session {
			continue
		}
		if m, ok := status(pid); ok {
			members = append(members, m)
		}
	}
	return members, nil
}

// status reads /proc/PID/stat: the number, the name in parentheses, the state, the
// parent and the process group. The name may have any characters in it.
func status(pid int) (member, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return member{}, false
	}
	m := member{pid: pid}
	var state byte
	_, err = fmt.Sscanf(string(text[bytes.LastIndexByte(text, ')')+1:]), " %c %d %d", &state, &m.parent, &m.group)
	m.dead = state == 'Z' || state == 'X'
	return m, err == nil
}
