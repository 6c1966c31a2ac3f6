package secret

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

func fromEnvironment(name string) (string, error) {
	text, ok := os.LookupEnv(name)
	if !ok {
		return "", fmt.Errorf("secret env:%s: the environment variable %s is not set; set it before starting the host", name, name)
	}
	return text, nil
}

// fromFile reads the file after looking at the very handle it reads from.
func fromFile(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EMLINK) { // EMLINK: the BSDs
		return "", fmt.Errorf("secret file:%s is a symbolic link; name the file it leads to", path)
	}
	if err != nil {
		return "", fmt.Errorf("secret file:%s: %w", path, cause(err))
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", fmt.Errorf("secret file:%s: %w", path, cause(err))
	}
	if err := checkOwned(path, info); err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil {
		return "", fmt.Errorf("secret file:%s: %w", path, cause(err))
	}
	return string(data), nil
}

// checkOwned refuses a file that somebody else can read or write, or may have put
// there by a link to a file of ours.
func checkOwned(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("secret file:%s is not a regular file", path)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("secret file:%s has mode %04o, so others can reach it; run: chmod 600 %s", path, mode, path)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return fmt.Errorf("secret file:%s: the system does not say whose it is", path)
	case stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("secret file:%s belongs to user %d, not to user %d that runs Plinth; run: chown %d %s",
			path, stat.Uid, os.Geteuid(), os.Geteuid(), path)
	case stat.Nlink > 1:
		return fmt.Errorf("secret file:%s has %d names (hard links); copy it to a file that has one", path, stat.Nlink)
	}
	return nil
}

// cause is what the system said, without the path again.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}
