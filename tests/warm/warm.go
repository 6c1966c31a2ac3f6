// Package warm gives tests the machine code of the builtin plugins, which one run of all
// tests makes once: under the race detector a compilation takes seconds.
package warm

import (
	"fmt"
	"os"
)

// Variable names the folder that tests/warm/fill has filled. Without it each package
// compiles for itself.
const Variable = "PLINTH_TEST_CACHE"

// Into makes a cache folder for an engine, with what is compiled already. A folder that
// is there is kept.
func Into(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("warm: %w", err)
	}
	filled := os.Getenv(Variable)
	if filled == "" {
		return nil
	}
	if err := os.CopyFS(folder, os.DirFS(filled)); err != nil {
		return fmt.Errorf("warm: copy what %s names: %w", Variable, err)
	}
	return nil
}
