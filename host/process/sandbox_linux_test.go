package process

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// confined makes a runner with the sandbox, a project and what lies beside it.
func confined(t *testing.T, s Sandbox) (r *Runner, project, outside string) {
	t.Helper()
	if offered := landlock(); offered.version < firstVersion {
		t.Skipf("this system has no sandbox: %+v", offered)
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, outside = filepath.Join(top, "project"), filepath.Join(top, "outside")
	for _, folder := range []string{project, outside} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "old"), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.Mode = ModeOn
	for i, path := range s.Write {
		s.Write[i] = filepath.Join(top, path)
	}
	return newRunner(t, Options{Sandbox: s}), project, outside
}

// A command writes below its project and to the usual devices, and nowhere else,
// whatever way it takes.
func TestTheSandboxBoundsWrites(t *testing.T) {
	r, project, outside := confined(t, Sandbox{})
	if err := os.Symlink(outside, filepath.Join(project, "link")); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"touch new && mkdir -p a/b && echo x >a/b/c && mv a/b/c a/c && ln a/c a/d && ln -s a e && rm -r a && echo y >>old && truncate -s 0 old",
		"echo x >/dev/null && echo x >/dev/stderr && echo x | tee /dev/stdout",
		"cat ../outside/old && ls ../outside && cd ../outside && pwd",
		"(sh -c 'sh -c \"touch deep\"')",
	} {
		got := run(t, r, Command{Line: line, Directory: project, Project: project})
		if got.ExitCode != 0 || got.Sandbox != (Confinement{Kind: SandboxLandlock}) {
			t.Errorf("%s: %+v", line, got)
		}
	}
	for _, line := range []string{
		"touch ../outside/new", "echo x >" + outside + "/old", "echo x >link/old", "cd ../outside && touch new", "cd link && touch new",
		"sh -c 'sh -c \"touch ../outside/new\"'", "setsid -w touch ../outside/new", "rm ../outside/old", "mv ../outside/old .", "mv old ../outside/new",
		"ln old ../outside/new", "mkdir ../outside/new", "ln -s x ../outside/new", "mkfifo ../outside/new", "truncate -s 0 ../outside/old",
		"touch ../beside", "ln ../outside/old hard",
	} {
		got := run(t, r, Command{Line: line, Directory: project, Project: project})
		if got.ExitCode == 0 {
			t.Errorf("%s: %+v", line, got)
		}
	}
	if text, err := os.ReadFile(filepath.Join(outside, "old")); err != nil || string(text) != "old" {
		t.Errorf("%q, %v", text, err)
	}
	if names, err := os.ReadDir(outside); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
}

// The kernel refuses even to who asks it without a shell.
func TestTheSandboxBoundsTruncate(t *testing.T) {
	r, project, outside := confined(t, Sandbox{})
	old := filepath.Join(outside, "old")
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, r, Command{Argv: []string{own, old}, Directory: project, Project: project, Environment: map[string]string{"PLINTH_PROCESS_HELPER": "truncate"}})
	if got.ExitCode != 1 || !strings.Contains(got.Output.Head, "permission denied") {
		t.Errorf("%+v", got)
	}
}

// What is not confined is not, beside what is and after it: the bounds stay with
// their command.
func TestTheSandboxLeavesNothingBehind(t *testing.T) {
	r, project, outside := confined(t, Sandbox{})
	for range 20 {
		if got := run(t, r, Command{Line: "touch ../outside/new", Directory: project, Project: project}); got.ExitCode == 0 {
			t.Fatalf("%+v", got)
		}
		if got := run(t, r, Command{Line: "touch ../outside/own && rm ../outside/own", Directory: project}); got.ExitCode != 0 || got.Sandbox != (Confinement{}) {
			t.Fatalf("%+v", got)
		}
		if err := os.WriteFile(filepath.Join(outside, "mine"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		status, err := os.ReadFile("/proc/self/task/" + task.Name() + "/status")
		if err == nil && strings.Contains(string(status), "NoNewPrivs:\t1") {
			t.Errorf("thread %s kept its bounds", task.Name())
		}
	}
}

// Further folders can be opened, but not by a link that a command puts in their place.
func TestTheSandboxWritesWhereItIsTold(t *testing.T) {
	r, project, outside := confined(t, Sandbox{Write: []string{"outside", "project/open", "later"}})
	if got := run(t, r, Command{Line: "touch ../outside/new", Directory: project, Project: project}); got.ExitCode != 0 {
		t.Errorf("%+v", got)
	}
	if got := run(t, r, Command{Line: "ln -s " + filepath.Dir(outside) + " open", Directory: project, Project: project}); got.ExitCode != 0 {
		t.Errorf("%+v", got)
	}
	if got := run(t, r, Command{Line: "touch ../beside", Directory: project, Project: project}); got.ExitCode == 0 {
		t.Error("a link opened what it leads to")
	}
	// A project whose place a link has taken is none any more.
	moved := project + "-moved"
	if err := os.Rename(project, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", project); err != nil {
		t.Fatal(err)
	}
	_, err := r.Run(t.Context(), Command{Line: "true", Directory: moved, Project: project})
	if failed, ok := err.(*Error); !ok || failed.Kind != KindSandbox {
		t.Errorf("%v", err)
	}
}

// A folder that there is not yet is made for the first command, and not before.
func TestTheSandboxMakesWhatToolsNeed(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache")
	r, project, _ := confined(t, Sandbox{Make: []string{cache, "/proc/cannot/be/made"}})
	r.sandbox.write = append(r.sandbox.write, cache)
	run(t, r, Command{Line: "true", Directory: project})
	if _, err := os.Stat(cache); err == nil {
		t.Error("it was made for a command that is not confined")
	}
	if got := run(t, r, Command{Line: "touch " + cache + "/new", Directory: project, Project: project}); got.ExitCode != 0 {
		t.Errorf("%+v", got)
	}
}

// A work tree apart from its repository can be committed from, and no command makes
// another folder its repository.
func TestTheSandboxKnowsWorkTrees(t *testing.T) {
	r, project, outside := confined(t, Sandbox{})
	git := exec.Command("sh", "-c", `git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first && git worktree add -q ../tree`)
	git.Dir = outside
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tree := filepath.Join(filepath.Dir(outside), "tree")
	got := run(t, r, Command{Line: "echo x >x && git add x && git -c user.name=a -c user.email=a@b commit -q -m second", Directory: tree, Project: tree})
	if got.ExitCode != 0 {
		t.Errorf("%+v", got)
	}
	if got := run(t, r, Command{Line: "touch ../outside/new", Directory: tree, Project: tree}); got.ExitCode == 0 {
		t.Error("the repository's own work tree is open")
	}
	for _, named := range []string{outside, filepath.Join(outside, ".git/worktrees/tree"), filepath.Join(outside, ".git")} {
		if err := os.WriteFile(filepath.Join(project, ".git"), []byte("gitdir: "+named+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := run(t, r, Command{Line: "touch ../outside/.git/new", Directory: project, Project: project}); got.ExitCode == 0 {
			t.Errorf("gitdir: %s opened it", named)
		}
	}
}

// TCP is kept away on request and only then.
func TestTheSandboxAndTheNetwork(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []bool{false, true} {
		r, project, _ := confined(t, Sandbox{NoNetwork: kept})
		got := run(t, r, Command{Argv: []string{own, listener.Addr().String()}, Directory: project, Project: project, Environment: map[string]string{"PLINTH_PROCESS_HELPER": "dial"}})
		if (got.ExitCode != 0) != kept || kept && !strings.Contains(got.Output.Head, "permission denied") {
			t.Errorf("kept away %v: %+v", kept, got)
		}
	}
}

// A command in the sandbox has no rights that its user has not.
func TestNoNewPrivileges(t *testing.T) {
	r, project, _ := confined(t, Sandbox{})
	got := run(t, r, Command{Line: "grep NoNewPrivs /proc/self/status", Directory: project, Project: project})
	if got.Output.Head != "NoNewPrivs:\t1\n" {
		t.Errorf("%+v", got)
	}
}

// The first thread, which cannot end, is never bound.
func TestAloneIsNeverTheFirstThread(t *testing.T) {
	for range 200 {
		alone(func() {
			if unix.Gettid() == os.Getpid() {
				t.Error("it is")
			}
		})
	}
}

func truncate(arguments []string) error { return unix.Truncate(arguments[0], 0) }

func dial(arguments []string) error {
	connection, err := net.Dial("tcp", arguments[0])
	if err == nil {
		connection.Close()
	}
	return err
}
