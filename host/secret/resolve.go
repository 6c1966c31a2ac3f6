package secret

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// maxSize is the most a secret may have, in bytes.
const maxSize = 64 << 10

// variable is the name of an environment variable.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Resolve answers the secret that ref names. A trailing newline is not part of
// it. The file must be Plinth's own user's or root's, and readable by nobody else.
func Resolve(ctx context.Context, ref string) (Value, error) {
	scheme, rest, err := parse(ref)
	if err != nil {
		return Value{}, err
	}
	if err := ctx.Err(); err != nil {
		return Value{}, fmt.Errorf("resolve secret %s: %w", ref, context.Cause(ctx))
	}
	var text string
	if scheme == "env" {
		text, err = fromEnvironment(rest)
	} else {
		text, err = fromFile(rest)
	}
	if err != nil {
		return Value{}, err
	}
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	switch {
	case text == "":
		return Value{}, fmt.Errorf("secret %s is empty", ref)
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return Value{}, fmt.Errorf("secret %s has line breaks or control characters in it; it must be one line of text", ref)
	}
	return NewValue(text), nil
}

// Check reports what is wrong with ref as a reference, without resolving it.
func Check(ref string) error {
	_, _, err := parse(ref)
	return err
}

// parse splits a reference. Its errors never repeat a text without a known
// scheme: it may be the secret itself, pasted in the wrong place.
func parse(ref string) (scheme, rest string, err error) {
	scheme, rest, _ = strings.Cut(ref, ":")
	switch scheme {
	case "env":
		if !variable.MatchString(rest) {
			return "", "", fmt.Errorf("the secret reference env:… must name an environment variable, like env:OPENAI_API_KEY")
		}
	case "file":
		if !filepath.IsAbs(rest) {
			return "", "", fmt.Errorf("the secret reference file:%s must have an absolute path", rest)
		}
	case "keyring", "command":
		return "", "", fmt.Errorf("secret references with %s: are not available in this version; use env:NAME or file:PATH", scheme)
	default:
		return "", "", errors.New("a secret is given as a reference, env:NAME or file:PATH, never as the secret itself")
	}
	return scheme, rest, nil
}

func fromEnvironment(name string) (string, error) {
	text, ok := os.LookupEnv(name)
	if !ok {
		return "", fmt.Errorf("secret env:%s: the environment variable %s is not set; set it before starting the host", name, name)
	}
	if len(text) > maxSize {
		return "", tooLarge("env:" + name)
	}
	return text, nil
}

func tooLarge(ref string) error {
	return fmt.Errorf("secret %s has more than %d KiB", ref, maxSize>>10)
}

// fromFile reads the file after looking at the very handle it reads from.
func fromFile(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
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
	if len(data) > maxSize {
		return "", tooLarge("file:" + path)
	}
	return string(data), nil
}

// checkOwned refuses a file that somebody else can read or write.
func checkOwned(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("secret file:%s is not a regular file", path)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("secret file:%s has mode %04o, so others can reach it; run: chmod 600 %s", path, mode, path)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("secret file:%s belongs to user %d, not to user %d that runs Plinth; run: chown %d %s",
			path, stat.Uid, os.Geteuid(), os.Geteuid(), path)
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
