//go:build !race

package conformance

import (
	"context"
	"os/exec"
)

// compiler is none: the engine compiles by itself.
func compiler(string) (func(ctx context.Context) *exec.Cmd, error) { return nil, nil }
