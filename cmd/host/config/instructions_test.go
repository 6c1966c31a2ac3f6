package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/cmd/host/config"
)

func TestInstructions(t *testing.T) {
	folder, environ := home(t, `[instructions]
files = ["./docs/rules/*.md", "~/notes/**/{a,b}.md", "/etc/style.md", "CONTRIBUTING.md"]
urls = ["HTTPS://Example.com:443/style", "http://127.0.0.1:8080/a?b=c"]
`)
	got, err := config.Load(config.Sources{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Instructions{
		Files: []string{"docs/rules/*.md", folder + "/notes/**/{a,b}.md", "/etc/style.md", "CONTRIBUTING.md"},
		URLs:  []string{"https://example.com/style", "http://127.0.0.1:8080/a?b=c"},
	}
	if diff := cmp.Diff(want, got.Instructions); diff != "" {
		t.Error(diff)
	}
}

func TestInstructionMistakes(t *testing.T) {
	many := func(n int, text string) string {
		return strings.TrimSuffix(strings.Repeat(fmt.Sprintf("%q,", text), n), ",")
	}
	for text, want := range map[string]string{
		`files = [""]`:                                  "config.toml:2: instructions.files.0 = \"\": must be a path or a pattern",
		`files = ["a.md", "../b.md"]`:                   `instructions.files.1 = "../b.md": leads out of the project; give an absolute path`,
		`files = ["a/../.."]`:                           "leads out of the project",
		`files = ["docs/"]`:                             `is a folder; name files in it, like "docs/*.md"`,
		`files = ["~ann/b.md"]`:                         "must be absolute, begin with ~/, or be relative",
		`files = ["a[.md"]`:                             "is no pattern",
		`files = ["a\\b.md"]`:                           "is no pattern",
		`files = ["{a,b}/{c,d}.md"]`:                    "has more than one pair of braces",
		`files = ["a\u0000.md"]`:                        "must be UTF-8 without NUL",
		`files = ["` + strings.Repeat("a", 1025) + `"]`: `instructions.files.0 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…": has 1025 bytes; the most is 1024`,
		`files = [` + many(65, "a.md") + `]`:            "instructions.files: has 65 elements; the most is 64",
		`urls = [` + many(9, "https://a") + `]`:         "instructions.urls: has 9 elements; the most is 8",
		`urls = ["ftp://a"]`:                            `instructions.urls.0: the URL "ftp://a" must begin with https:// or http://`,
		`urls = ["https://u:p@a"]`:                      "the URL must not hold a user name or password",
		`file = []`:                                     "unknown key; known here: files, urls",
		"[plugins.\"core/environment\".config]\na = 1":  "this plugin is configured by [instructions] and project_config; remove it",
	} {
		_, environ := home(t, "[instructions]\n"+text)
		if _, err := config.Load(config.Sources{Environ: environ}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
	for _, text := range []string{`files = ["` + strings.Repeat("a", 1024) + `"]`, `files = [` + many(64, "a.md") + `]`, `urls = [` + many(8, "https://a") + `]`} {
		_, environ := home(t, "[instructions]\n"+text)
		if _, err := config.Load(config.Sources{Environ: environ}); err != nil {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}

func TestProjectConfig(t *testing.T) {
	for _, c := range []struct {
		text, variable string
		want           bool
		mistake        string
	}{
		{want: true},
		{text: "project_config = false"},
		{variable: "1"},
		{variable: "true"},
		{text: "project_config = false", variable: "0", want: true},
		{text: "project_config = true", variable: "1"},
		{variable: "yes", mistake: `PLINTH_DISABLE_PROJECT_CONFIG: project_config = "yes": must be 1 or 0`},
		{text: `project_config = "no"`, mistake: "project_config: must be true or false"},
	} {
		_, environ := home(t, c.text)
		if c.variable != "" {
			environ = append(environ, "PLINTH_DISABLE_PROJECT_CONFIG="+c.variable)
		}
		got, err := config.Load(config.Sources{Environ: environ})
		switch {
		case c.mistake == "" && (err != nil || got.ProjectConfig != c.want):
			t.Errorf("%+v: %t, %v", c, got.ProjectConfig, err)
		case c.mistake != "" && (err == nil || !strings.Contains(err.Error(), c.mistake)):
			t.Errorf("%+v: %v", c, err)
		}
	}
}
