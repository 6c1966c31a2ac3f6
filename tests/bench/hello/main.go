// Command hello measures what a model is sent for the prompt "hello" in an empty folder,
// with every builtin that comes switched on: the size of the first request and of its
// parts. It prints lines "figure NAME VALUE UNIT", and the parts beside them.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/plinthhost/plinth/tests/bench/measure"
	"github.com/plinthhost/plinth/tests/chat"
)

// The most that builtins.hello_kb may be, and a kilobyte of it.
const (
	most     = 12
	kilobyte = 1024.0
)

// transforms switches on the builtins that come switched off.
const transforms = `
[plugins."core/house-rules"]
enabled = true
config = { rules = ["Say which tests you ran."] }
[plugins."core/redact"]
enabled = true
[plugins."core/tool-subset"]
enabled = true
config = { agents = { "*" = { only = ["read"] } } }
[plugins."core/cache-marks"]
enabled = true
`

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench-hello:", err)
		os.Exit(1)
	}
}

func figure(name string, bytes int) {
	fmt.Printf("figure builtins.%s %.2f KB\n", name, float64(bytes)/kilobyte)
}

func run(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "plinth-hello-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "plinth")
	if out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, "./cmd/host").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	plain, err := hello(ctx, folder, binary, "")
	if err != nil {
		return err
	}
	if err := tell(plain); err != nil {
		return err
	}
	edited, err := hello(ctx, folder, binary, transforms)
	if err != nil {
		return fmt.Errorf("with the transforms: %w", err)
	}
	figure("hello_transforms_kb", len(edited.Body))
	if size := float64(len(plain.Body)) / kilobyte; size > most {
		return fmt.Errorf("the first request has %.2f KB, the bar is %d", size, most)
	}
	return nil
}

// tell prints the figures of a request.
func tell(request chat.Request) error {
	parts, err := request.Parts()
	if err != nil {
		return err
	}
	figure("hello_kb", len(request.Body))
	var tools, system int
	for _, part := range parts {
		switch {
		case part.Name == "system":
			system += part.Bytes
		case strings.HasPrefix(part.Name, "tool "):
			tools += part.Bytes
		}
		measure.Note("%6d bytes  %s", part.Bytes, part.Name)
	}
	figure("hello_system_kb", system)
	figure("hello_tools_kb", tools)
	figure("hello_largest_kb", parts[0].Bytes)
	return nil
}

// hello answers the first request of a host that has never run, with more configuration.
func hello(ctx context.Context, folder, binary, more string) (first chat.Request, err error) {
	server, err := chat.Start(chat.Say("Hello."), chat.Options{})
	if err != nil {
		return first, err
	}
	defer server.Close()
	home, err := os.MkdirTemp(folder, "home-*")
	if err != nil {
		return first, err
	}
	project, config := filepath.Join(home, "p"), filepath.Join(home, "config.toml")
	if err := os.Mkdir(project, 0o700); err != nil {
		return first, err
	}
	text := fmt.Sprintf("model = \"local/test\"\n[titles]\nenabled = false\n[providers.local]\nplugin = \"core/openai\"\nbase_url = %q\n", server.URL)
	if err := os.WriteFile(config, []byte(text+more), 0o600); err != nil {
		return first, err
	}
	command := exec.CommandContext(ctx, binary, "run", "--config", config, "--data", filepath.Join(home, "data"), "hello")
	command.Dir, command.Env = project, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	if out, err := command.CombinedOutput(); err != nil {
		return first, fmt.Errorf("plinth run: %w\n%s", err, out)
	}
	requests := server.Requests()
	if len(requests) == 0 {
		return first, fmt.Errorf("the model was asked nothing")
	}
	return requests[0], nil
}
