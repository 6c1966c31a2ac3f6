package process

import (
	"errors"
	"os"
)

// errMoved is a directory whose path leads elsewhere since it was opened.
var errMoved = errors.New("its path leads elsewhere by now")

// handlePath answers the path of an open directory, if it still leads there: no
// other path can be entered.
func handlePath(handle *os.File, info os.FileInfo) (enter, written string, err error) {
	now, err := os.Stat(handle.Name())
	if err == nil && !os.SameFile(now, info) {
		err = errMoved
	}
	return handle.Name(), handle.Name(), err
}
