package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// listen opens what the options name, all or nothing.
func listen(ctx context.Context, options Options) ([]net.Listener, error) {
	var listeners []net.Listener
	if options.Socket != "" {
		listener, err := listenUnix(ctx, options.Socket)
		if err != nil {
			return nil, err
		}
		listeners = append(listeners, listener)
	}
	if options.Listen != "" {
		var config net.ListenConfig
		listener, err := config.Listen(ctx, "tcp", options.Listen)
		if err != nil {
			for _, open := range listeners {
				open.Close()
			}
			return nil, fmt.Errorf("listen on %s: %w", options.Listen, err)
		}
		listeners = append(listeners, listener)
	}
	return listeners, nil
}

// maxSocketPath is the longest path of a unix socket on all our systems, in bytes.
const maxSocketPath = 103

// listenUnix opens a socket that only its owner can reach. A socket file that
// nobody serves is replaced; one that is served is an error.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("socket path %s has %d bytes, the system allows %d; choose a shorter data folder", path, len(path), maxSocketPath)
	}
	if err := privateFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, fmt.Errorf("protect socket: %w", err)
	}
	return listener, nil
}

// privateFolder makes the folder, or makes sure that it is only ours.
func privateFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make the socket's folder: %w", err)
	}
	info, err := os.Stat(folder)
	if err != nil {
		return fmt.Errorf("look at the socket's folder: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("the socket's folder %s has mode %04o, so others can reach into it; run: chmod 700 %s", folder, mode, folder)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("the socket's folder %s belongs to user %d, not to us (%d); choose another data folder", folder, stat.Uid, os.Geteuid())
	}
	return nil
}

// removeStale removes a socket file that a dead server left.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s exists and is no socket; move it away", path)
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		conn.Close()
		return fmt.Errorf("another server listens on %s already", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the socket of a server that is gone: %w", err)
	}
	return nil
}

// connContext notes the peer's uid of a unix socket connection: the kernel's
// word, which nothing in the request can change.
func (s *Server) connContext(ctx context.Context, conn net.Conn) context.Context {
	local, ok := conn.(*net.UnixConn)
	if !ok {
		return ctx
	}
	uid, err := peerUID(local)
	if err != nil {
		s.logger.Warn("the peer of a socket connection is not known", "error", err)
		return context.WithValue(ctx, localKey{}, -1)
	}
	return context.WithValue(ctx, localKey{}, uid)
}
