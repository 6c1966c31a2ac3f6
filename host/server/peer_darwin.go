package server

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// peerUID answers the user at the other end of a unix socket.
func peerUID(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("read peer credentials: %w", err)
	}
	var credentials *unix.Xucred
	var optionErr error
	err = raw.Control(func(fd uintptr) {
		credentials, optionErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	})
	if err != nil {
		return 0, fmt.Errorf("read peer credentials: %w", err)
	}
	if optionErr != nil {
		return 0, fmt.Errorf("read peer credentials: %w", optionErr)
	}
	return int(credentials.Uid), nil
}
