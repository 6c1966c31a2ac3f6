package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
)

// Limits of what is shown, so that it stays, with its notes, within the 2,000 lines and
// 51,200 bytes that the host shows the model of any answer.
const (
	maxLines  = 1900
	maxBytes  = 50_000
	maxRunes  = 2000 // of a line
	cutSuffix = "... (line truncated to 2000 chars)"
)

// room is how many bytes may be shown beside a note that names the path.
func room(path string) int { return min(maxBytes, 51_000-len(path)) }

// onLine is a path as it stands on a line of its own: quoted when it would break it.
func onLine(path string) string {
	if strings.ContainsFunc(path, unicode.IsControl) {
		return strconv.Quote(path)
	}
	return path
}

// explain names the path in what the host said of it.
func explain(path string, err error) error {
	if err != nil && plinth.KindOf(err) == abi.KindNotFound {
		return plinth.Errorf(abi.KindNotFound, "%s does not exist", path)
	}
	return err
}

// checkPath refuses what no file can be called. "" is the working directory.
func checkPath(path string) error {
	if strings.ContainsRune(path, 0) {
		return plinth.Errorf(abi.KindInvalidInput, "path has a NUL character in it")
	}
	return nil
}

// within answers the number a model gave, or the default when it gave none.
func within(name string, given *int64, otherwise, least, most int) (int, error) {
	switch {
	case given == nil:
		return otherwise, nil
	case *given < int64(least) || *given > int64(most):
		return 0, plinth.Errorf(abi.KindInvalidInput, "%s is %d; it is at least %d and at most %d", name, *given, least, most)
	}
	return int(*given), nil
}

// orHere is the folder of a path that may be left out.
func orHere(path string) string {
	if path == "" {
		return "."
	}
	return path
}

// note is a line behind what is shown.
func note(format string, args ...any) string { return "\n\n(" + fmt.Sprintf(format, args...) + ")" }

// passedOver says what a search has not looked at, so that the model does not take it
// for what is not there.
func passedOver(passed abi.FSPassed) (text string) {
	if passed.Asks > 0 {
		text += note("left out: %s whose reading needs approval; read one by its path to ask for it", counted(passed.Asks, "file", "files"))
	}
	if passed.Denied > 0 {
		text += note("left out: %s that may not be read", counted(passed.Denied, "file", "files"))
	}
	if passed.Unreadable > 0 {
		text += note("left out: %s that could not be opened", counted(passed.Unreadable, "file", "files"))
	}
	if passed.Partial {
		text += note("the search took too long and was ended; narrow path or pattern to see the rest")
	}
	return text
}

// counted is a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
