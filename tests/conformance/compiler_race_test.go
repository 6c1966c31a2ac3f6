//go:build race

package conformance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// compiler builds these tests without the detector and answers them as the engine's
// compiler: the detector makes compiling twenty times as slow, and the races are in
// what runs. Only tests share machine code with tests: programs name their compiler by
// its version.
func compiler(folder string) (func(ctx context.Context) *exec.Cmd, error) {
	program := filepath.Join(folder, "compiler")
	if said, err := exec.Command("go", "test", "-c", "-o", program, ".").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the compiler: %w\n%s", err, said)
	}
	return func(ctx context.Context) *exec.Cmd {
		child := exec.CommandContext(ctx, program)
		child.Env = append(os.Environ(), compilerVariable+"=1")
		return child
	}, nil
}
