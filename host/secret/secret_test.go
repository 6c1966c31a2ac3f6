package secret_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plinthhost/plinth/host/secret"
)

func TestValueHides(t *testing.T) {
	const text = "sk-very-private"
	type holder struct {
		Public  secret.Value
		private secret.Value
	}
	value := secret.NewValue(text)
	h := holder{Public: value, private: value}
	marshalled, err := json.Marshal(map[string]any{"value": value, "pointer": &value, "struct": h})
	if err != nil {
		t.Fatal(err)
	}
	shown := []string{string(marshalled)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown = append(shown, fmt.Sprintf(verb, value), fmt.Sprintf(verb, &value), fmt.Sprintf(verb, h), fmt.Sprintf(verb, []secret.Value{value}))
	}
	shown = append(shown, value.String(), value.GoString(), fmt.Errorf("bad %w %v", errors.New("x"), h).Error())
	for _, s := range shown {
		if strings.Contains(s, text) || strings.Contains(s, fmt.Sprintf("%x", text)) {
			t.Errorf("shown: %s", s)
		}
	}
	if same := secret.NewValue(text); !value.Equal(same) || value.Equal(secret.NewValue(text+"x")) || value.Equal(secret.Value{}) {
		t.Error("Equal is wrong")
	}
	if fmt.Sprint(value) != "[secret]" || !strings.Contains(string(marshalled), `"value":"[secret]"`) {
		t.Errorf("%v, %s", value, marshalled)
	}
	if h.private.Reveal() != text || (secret.Value{}).Reveal() != "" {
		t.Error("Reveal does not answer the secret")
	}
}

func TestResolveEnvironment(t *testing.T) {
	t.Setenv("PLINTH_H6_KEY", "one")
	for _, want := range []string{"one", "two"} { // read at use
		t.Setenv("PLINTH_H6_KEY", want+"\n")
		value, err := secret.Resolve(t.Context(), "env:PLINTH_H6_KEY")
		if err != nil || value.Reveal() != want {
			t.Fatalf("%q, %v", value.Reveal(), err)
		}
	}
}

func TestResolveFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	for content, want := range map[string]string{"abc": "abc", "abc\n": "abc", "abc\r\n": "abc", "a b ": "a b ",
		"{\n \"a\": 1\n}\n": `{"a":1}`} {
		write(t, path, content, 0o600)
		value, err := secret.Resolve(t.Context(), "file:"+path)
		if err != nil || value.Reveal() != want {
			t.Errorf("%q: %q, %v", content, value.Reveal(), err)
		}
	}
	write(t, path, "read only", 0o400)
	if _, err := secret.Resolve(t.Context(), "file:"+path); err != nil {
		t.Error(err)
	}
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestResolveErrors(t *testing.T) {
	folder := t.TempDir()
	open := filepath.Join(folder, "open")
	write(t, open, "hidden-content", 0o644)
	group := filepath.Join(folder, "group")
	write(t, group, "hidden-content", 0o620)
	empty := filepath.Join(folder, "empty")
	write(t, empty, "\n", 0o600)
	lines := filepath.Join(folder, "lines")
	write(t, lines, "hidden-content\nmore", 0o600)
	large := filepath.Join(folder, "large")
	write(t, large, strings.Repeat("x", 64<<10+1), 0o600)
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, "link")
	if err := os.Symlink(empty, link); err != nil {
		t.Fatal(err)
	}
	twice := filepath.Join(folder, "twice")
	write(t, twice, "hidden-content", 0o600)
	if err := os.Link(twice, twice+"2"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PLINTH_H6_EMPTY", "")

	for ref, want := range map[string][]string{
		"file:" + open:                      {"mode 0644", "chmod 600 " + open},
		"file:" + group:                     {"mode 0620", "chmod 600 " + group},
		"file:" + empty:                     {"is empty"},
		"file:" + lines:                     {"line breaks"},
		"file:" + large:                     {"more than 64 KiB"},
		"file:" + pipe:                      {"not a regular file"},
		"file:" + folder:                    {"not a regular file"},
		"file:" + folder + "/no":            {"no such file", folder + "/no"},
		"file:relative":                     {"absolute path", "relative"},
		"file:":                             {"absolute path"},
		"env:":                              {"env:OPENAI_API_KEY"},
		"env:A B":                           {"must name an environment variable"},
		"env:PLINTH_H6_UNSET":               {"PLINTH_H6_UNSET is not set"},
		"env:PLINTH_H6_EMPTY":               {"is empty"},
		"file:" + link:                      {"is a symbolic link"},
		"file:" + twice:                     {"2 names (hard links)"},
		"keyring:":                          {"must name an item", "keyring:openai"},
		"keyring:a\nb":                      {"without control characters"},
		"command:":                          {"must name a program"},
		"command:  ":                        {"must name a program"},
		"command:[]":                        {"must name a program"},
		`command:["pass", 1]`:               {"JSON array of strings"},
		"command:./pass openai":             {"absolute path"},
		"command:a\x00b":                    {"NUL"},
		"command:no-such-program-of-plinth": {"no such program"},
		"sk-pasted-secret":                  {"never as the secret itself"},
		"sk:pasted-secret":                  {"never as the secret itself"},
		"":                                  {"env:NAME, file:PATH, keyring:NAME or command:ARGV"},
	} {
		value, err := secret.Resolve(t.Context(), ref)
		if err == nil {
			t.Errorf("%s: no error", ref)
			continue
		}
		for _, text := range want {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want %q in it", ref, err, text)
			}
		}
		if strings.Contains(err.Error(), "hidden-content") || strings.Contains(err.Error(), "pasted-secret") {
			t.Errorf("%s: the error shows the secret: %v", ref, err)
		}
		if value.Reveal() != "" {
			t.Errorf("%s: a value beside the error", ref)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, ref := range []string{"env:NEVER_SET_AT_ALL", "file:/nowhere/at/all", "keyring:x", "command:no-such-program", `command:["a", ""]`} {
		if err := secret.Check(ref); err != nil {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if err := secret.Check("sk-pasted-secret"); err == nil {
		t.Error("a secret passed")
	}
}

func TestResolveCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	t.Setenv("PLINTH_H6_KEY", "one")
	if _, err := secret.Resolve(ctx, "env:PLINTH_H6_KEY"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
