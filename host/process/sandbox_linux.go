package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// fileWrites are the rights that a file itself can give.
	fileWrites = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	// allWrites are those that change anything below a folder.
	allWrites = fileWrites | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	allNetwork = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
)

// landlock answers what this kernel has, by binding a thread that ends with it: what
// the kernel has may still be kept from this process.
func landlock() offer {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errors.Is(errno, unix.EOPNOTSUPP):
		return offer{reason: "Landlock is switched off in this kernel; it must be in the list lsm= of its command line"}
	case errors.Is(errno, unix.ENOSYS):
		return offer{reason: "this kernel has no Landlock, or a filter of system calls hides it"}
	case errno != 0:
		return offer{reason: fmt.Sprintf("Landlock cannot be asked for: %v", errno)}
	}
	var err error
	if version >= firstVersion {
		alone(func() { err = (&bounds{}).enforce() })
	}
	if err != nil {
		return offer{reason: err.Error()}
	}
	return offer{version: int(version)}
}

// alone runs something on a thread that ends with it, and waits. A thread whose
// goroutine is bound to it begets no other threads of this program, so what becomes
// of it stays with it and the processes it starts.
func alone(run func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() { // the first thread cannot end
			alone(run)
			runtime.UnlockOSThread()
			return
		}
		run()
	}()
	<-done
}

// enforce confines the thread, and all that it starts from then on, for good.
func (b *bounds) enforce() error {
	attributes := unix.LandlockRulesetAttr{Handled_access_fs: allWrites}
	if b.noNetwork {
		attributes.Handled_access_net = allNetwork
	}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes), 0)
	if errno != 0 {
		return fmt.Errorf("make the rules of the sandbox: %w", errno)
	}
	defer unix.Close(int(ruleset))
	for _, path := range b.project {
		if err := permit(int(ruleset), path); err != nil {
			return fmt.Errorf("let the sandbox write to %s: %w", path, err)
		}
	}
	for _, path := range b.write {
		// A link that has come since is not followed: what a command can write to it
		// must not be able to widen.
		if err := permit(int(ruleset), path); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ELOOP) && !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("let the sandbox write to %s: %w", path, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("enter the sandbox: %w", errno)
	}
	return nil
}

// permit lets a ruleset write to a file, or to a folder and all below it.
func permit(ruleset int, path string) error {
	descriptor, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return err
	}
	defer unix.Close(descriptor)
	var stat unix.Stat_t
	if err := unix.Fstat(descriptor, &stat); err != nil {
		return err
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: allWrites, Parent_fd: int32(descriptor)}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rule.Allowed_access = fileWrites
	}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
