package secret

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

const (
	// maxSize is the most a secret may have, in bytes.
	maxSize = 64 << 10
	// commandTimeout and keyringTimeout bound a lookup. A person may have to touch
	// a key, but not to look for it.
	commandTimeout = 30 * time.Second
	keyringTimeout = 10 * time.Second
)

// Resolve answers the secret that ref names, read now. One trailing newline is not
// part of it; JSON over several lines, as credential helpers print it, is put on
// one. Errors name the reference and never the secret.
func Resolve(ctx context.Context, ref string) (Value, error) {
	parsed, err := parse(ref)
	if err != nil {
		return Value{}, err
	}
	return resolve(ctx, parsed)
}

func resolve(ctx context.Context, r reference) (Value, error) {
	if ctx.Err() != nil {
		return Value{}, fmt.Errorf("resolve secret %s: %w", r, context.Cause(ctx))
	}
	var text string
	var err error
	switch r.scheme {
	case schemeEnv:
		text, err = fromEnvironment(r.name)
	case schemeFile:
		text, err = fromFile(r.name)
	case schemeKeyring:
		text, err = fromKeyring(ctx, r.name)
	case schemeCommand:
		text, err = fromCommand(ctx, r.argv, commandTimeout)
	}
	if err != nil {
		return Value{}, err
	}
	if len(text) > maxSize {
		return Value{}, tooLarge(r.String())
	}
	return r.clean(text)
}

// clean cuts the newline and refuses what no header could carry.
func (r reference) clean(text string) (Value, error) {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if strings.HasPrefix(text, "{") && strings.Contains(text, "\n") {
		var line bytes.Buffer
		if json.Compact(&line, []byte(text)) == nil {
			text = line.String()
		}
	}
	switch {
	case text == "":
		return Value{}, fmt.Errorf("secret %s is empty", r)
	case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return Value{}, fmt.Errorf("secret %s has line breaks or control characters in it; it must be one line of text", r)
	}
	return NewValue(text), nil
}

func tooLarge(ref string) error {
	return fmt.Errorf("secret %s has more than %d KiB", ref, maxSize>>10)
}
