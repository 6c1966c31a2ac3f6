package sqlite_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childRole is set for a process that a test starts from its own binary.
const childRole = "PLINTH_STORE_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		os.Exit(runChild(role, os.Getenv("PLINTH_STORE_DIR")))
	}
	goleak.VerifyTestMain(m)
}
