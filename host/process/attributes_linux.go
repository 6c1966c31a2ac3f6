package process

import "syscall"

// attributes begin a process session, which has no terminal. The program is killed
// when the thread that started it ends: the caller keeps that for itself while the
// program runs.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}
