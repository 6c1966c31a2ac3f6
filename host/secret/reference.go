package secret

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The schemes of references.
const (
	schemeEnv     = "env"
	schemeFile    = "file"
	schemeKeyring = "keyring"
	schemeCommand = "command"
)

// maxName bounds the name of a keyring's item, in bytes.
const maxName = 256

// variable is the name of an environment variable.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reference is a parsed reference.
type reference struct {
	scheme string
	name   string   // the variable, the path or the item
	argv   []string // of a command
}

// String answers the reference for errors, without a command's arguments.
func (r reference) String() string {
	if r.scheme == schemeCommand {
		return "command:" + r.argv[0]
	}
	return r.scheme + ":" + r.name
}

// IsReference reports whether a text that may be a reference begins like one.
func IsReference(text string) bool {
	scheme, _, found := strings.Cut(text, ":")
	return found && slices.Contains([]string{schemeEnv, schemeFile, schemeKeyring, schemeCommand}, scheme)
}

// Check reports what is wrong with ref as a reference, without resolving it.
func Check(ref string) error {
	_, err := parse(ref)
	return err
}

// parse reads a reference. Its errors never repeat a text without a known scheme:
// it may be the secret itself, pasted in the wrong place.
func parse(ref string) (reference, error) {
	scheme, rest, _ := strings.Cut(ref, ":")
	parsed := reference{scheme: scheme, name: rest}
	switch scheme {
	case schemeEnv:
		if !variable.MatchString(rest) {
			return reference{}, errors.New("the secret reference env:… must name an environment variable, like env:OPENAI_API_KEY")
		}
	case schemeFile:
		if !filepath.IsAbs(rest) {
			return reference{}, fmt.Errorf("the secret reference file:%s must have an absolute path", rest)
		}
	case schemeKeyring:
		if rest == "" || len(rest) > maxName || !utf8.ValidString(rest) || strings.ContainsFunc(rest, unicode.IsControl) {
			return reference{}, fmt.Errorf("the secret reference keyring:… must name an item in 1 to %d bytes without control characters, like keyring:openai", maxName)
		}
	case schemeCommand:
		argv, err := parseCommand(rest)
		if err != nil {
			return reference{}, err
		}
		parsed.name, parsed.argv = "", argv
	default:
		return reference{}, errors.New("a secret is given as a reference, env:NAME, file:PATH, keyring:NAME or command:ARGV, never as the secret itself")
	}
	return parsed, nil
}

// parseCommand answers the program and its arguments.
func parseCommand(text string) ([]string, error) {
	argv := strings.Fields(text)
	if strings.HasPrefix(text, "[") {
		argv = nil
		if err := json.Unmarshal([]byte(text), &argv); err != nil {
			return nil, errors.New(`the secret reference command:[… must be a JSON array of strings, like command:["pass", "show", "my key"]`)
		}
	}
	switch {
	case len(argv) == 0 || argv[0] == "":
		return nil, errors.New("the secret reference command:… must name a program, like command:pass show openai")
	case strings.Contains(argv[0], "/") && !filepath.IsAbs(argv[0]):
		return nil, fmt.Errorf("the secret reference command:%s must name a program by an absolute path, or by a name that PATH finds", argv[0])
	case slices.ContainsFunc(argv, func(arg string) bool { return strings.ContainsRune(arg, 0) }):
		return nil, errors.New("the secret reference command:… must have no NUL byte in it")
	}
	return argv, nil
}
