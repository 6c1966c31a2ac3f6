package process

import "syscall"

// attributes begin a process session, which has no terminal.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
