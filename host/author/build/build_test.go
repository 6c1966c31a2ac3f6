package build_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/author/build"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/wasm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sources is a plugin's folder that is built by a command. What a compiler would make lies
// in its folder out.
func sources(t *testing.T, command string, more ...string) string {
	t.Helper()
	folder := t.TempDir()
	files := map[string]string{
		plugin.ManifestName: "schema = 1\nid = \"acme/pair\"\nversion = \"1.2.0\"\ndescription = \"d\"\n[[tool]]\nname = \"pair\"\ndescription = \"d\"\ninput = '{\"type\":\"object\"}'\n" +
			"[dev]\nbuild = '''" + command + "'''\n" + strings.Join(more, ""),
		"out/guest.wasm":  string(bridgetest.New().Answers(abi.ExportTool, `{"ok":{}}`).Bytes()),
		"out/other.wasm":  string(bridgetest.New().Answers(abi.ExportTransform, `{"ok":{}}`).Bytes()),
		"out/asking.wasm": string(bridgetest.NewAsking().Answers(abi.ExportTransform, `{"ok":{"edits":[]}}`).Bytes()),
		"out/half.wasm":   "\x00asm\x01\x00\x00\x00\x01",
		"out/plugin.toml": "schema = 1\nid = \"acme/pair\"\nversion = \"1.2.0\"\ndescription = \"d\"\n[[transform]]\nname = \"t\"\nreads = [\"system\"]\nwrites = [\"system\"]\n",
		"in.json":         `{"body":{}}`,
	}
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func run(ctx context.Context, t *testing.T, folder string) (build.Result, string, error) {
	t.Helper()
	manifest, err := plugin.ManifestOf(folder)
	if err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	result, err := build.Run(ctx, folder, manifest, &output)
	return result, output.String(), err
}

const golden = "[[golden]]\nexport = \"tool\"\ninput = \"in.json\"\noutput = \"out.json\"\n"

func TestABuildIsLookedAt(t *testing.T) {
	folder := sources(t, "printf 'one\\n'; printf 'two\\033[1m\\n' >&2; pwd; cp out/guest.wasm guest.wasm", golden)
	result, output, err := run(t.Context(), t, folder)
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.EvalSymlinks(folder)
	if err != nil || output != "one\ntwo\x1b[1m\n"+here+"\n" {
		t.Errorf("the compiler's output is %q, %v", output, err)
	}
	if result.Took <= 0 || result.Report.ID != "acme/pair" || result.Report.Bytes != len(result.Candidate.Wasm) || len(result.Missing) != 1 || result.Missing[0] != "out.json" {
		t.Errorf("%v, %+v, %q", result.Took, result.Report, result.Missing)
	}
	if err := os.WriteFile(filepath.Join(folder, "out.json"), []byte(`{"ok":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	packed, err := plugin.Pack(folder)
	if err != nil {
		t.Fatal(err)
	}
	result, err = build.Look(folder)
	if err != nil || len(result.Missing) > 0 || !bytes.Equal(result.Candidate.Wasm, packed) {
		t.Errorf("what is whole is not what is packed: %q, %v", result.Missing, err)
	}
}

func TestBuildsThatFail(t *testing.T) {
	for _, test := range []struct{ name, command, more, want, output string }{
		{"the compiler refuses it", "echo main.go:3: no such thing >&2; exit 3", "", "in FOLDER ended with exit status 3; what it printed says why", "main.go:3: no such thing\n"},
		{"there is no compiler", "no-such-compiler -o guest.wasm", "", "ended with exit status 127; sh knows no such program; plinth plugin doctor says how to install it, or correct PATH", "no-such-compiler"},
		{"it is killed", "kill -9 $$", "", "did not come to an end: signal: killed", ""},
		{"it leaves nothing", "true", "", "FOLDER: there is no .wasm file beside plugin.toml; its [dev] build must leave it there", ""},
		{"it leaves two", "cp out/*.wasm .", "", "FOLDER: there are 4 .wasm files beside plugin.toml, asking.wasm, guest.wasm, half.wasm, other.wasm; leave one", ""},
		{"it leaves half a module", "cp out/half.wasm .", "", "parse at byte ", ""},
		{"it lacks an export", "cp out/other.wasm .", "", "it must export plinth_tool_execute, a function of type (i32,i32)->(i64); link its kind in, which exports it, or take the table that declares it out of the manifest", ""},
		{"it imports too much", "cp out/asking.wasm out/plugin.toml .", "", "plinth.host_call", ""},
		{"a golden's input is bad", "cp out/guest.wasm .; echo '{}' >in.json", golden, "in.json: body: it must be an object", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := sources(t, test.command, test.more)
			_, output, err := run(t.Context(), t, folder)
			if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), folder, "FOLDER"), test.want) || !strings.Contains(output, test.output) {
				t.Errorf("%v, want %q\n%q", err, test.want, output)
			}
		})
	}
}

func TestAFailureNamesTheCommand(t *testing.T) {
	folder := sources(t, "exit 7")
	_, _, err := run(t.Context(), t, folder)
	failed, is := errors.AsType[*build.CommandError](err)
	if !is || failed.Key != "dev.build" || failed.Command != "exit 7" || failed.Folder != folder || failed.Code != 7 {
		t.Errorf("%+v", err)
	}
	_, _, err = run(t.Context(), t, sources(t, "cp out/other.wasm ."))
	if refused, is := errors.AsType[*wasm.AdmissionError](err); !is || refused.Module != "acme/pair" || refused.Stage != wasm.StageExports {
		t.Errorf("%v", err)
	}
	folder = sources(t, "")
	if _, _, err = run(t.Context(), t, folder); !errors.Is(err, build.ErrNoCommand) || !strings.HasPrefix(err.Error(), filepath.Join(folder, "plugin.toml")+": dev.build: ") {
		t.Errorf("%v", err)
	}
}

// A build that is cancelled ends with all that it started.
func TestACancelledBuildLeavesNothing(t *testing.T) {
	folder := sources(t, "exec 9>alive; sleep 1000 & echo ready; wait")
	alive := filepath.Join(folder, "alive")
	if err := syscall.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(alive, os.O_RDWR, 0) // opening it must not wait
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	manifest, err := plugin.ManifestOf(folder)
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("the author saved again")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err = build.Run(ctx, folder, manifest, told(func() { cancel(why) }))
	if !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	// Whoever of it lived on would hold the pipe open: it ends for who only reads.
	only, err := os.Open(alive)
	if err != nil {
		t.Fatal(err)
	}
	defer only.Close()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(only); err != nil {
		t.Error(err)
	}
}

// told calls a function when something is written.
type told func()

func (t told) Write(p []byte) (int, error) {
	t()
	return len(p), nil
}

func TestACommandThatLeavesAChildBehind(t *testing.T) {
	var output bytes.Buffer
	err := build.Command(t.Context(), t.TempDir(), build.KeyTest, "sleep 1000 & echo $PLINTH_UPDATE", []string{"PLINTH_UPDATE=1"}, &output)
	if err == nil || !strings.Contains(err.Error(), "dev.test: `sleep 1000 & echo $PLINTH_UPDATE` in ") || !strings.HasSuffix(err.Error(), "it left a process behind that kept its output open; have it wait for what it starts") {
		t.Error(err)
	}
	if output.String() != "1\n" {
		t.Errorf("%q", output.String())
	}
}
