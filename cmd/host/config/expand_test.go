package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/host/expand"
)

func TestExpansion(t *testing.T) {
	dir, environ := home(t, `
[shell]
enabled = false
timeout_ms = 1000

[references.docs]
path = "~/docs"
description = "the guides"
[references.api]
path = "/srv/api/../api"

[commands.review]
description = "Looks at changes"
template = """
Review $1
"""
agent = "plan"
model = "offline/rules"
variant = "high"
[commands.file]
template_file = "~/prompt.md"
`)
	if err := os.WriteFile(filepath.Join(dir, "prompt.md"), []byte("From a file: $ARGUMENTS\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(config.Sources{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Shell{TimeoutMS: 1000}, loaded.Shell); diff != "" {
		t.Error(diff)
	}
	references := []expand.Reference{{Name: "api", Path: "/srv/api"}, {Name: "docs", Path: filepath.Join(dir, "docs"), Description: "the guides"}}
	if diff := cmp.Diff(references, loaded.References); diff != "" {
		t.Error(diff)
	}
	commands := []expand.Command{
		{Name: "file", Source: "config", Template: "From a file: $ARGUMENTS"},
		{Name: "review", Source: "config", Description: "Looks at changes", Template: "Review $1", Agent: "plan", Model: "offline/rules", Variant: "high"},
	}
	if diff := cmp.Diff(commands, loaded.Commands); diff != "" {
		t.Error(diff)
	}
}

func TestExpansionRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"[shell]\ntimeout_ms = 999":                                          "shell.timeout_ms = 999: must be from 1000 to 86400000",
		"[references.Docs]\npath = \"/d\"":                                   "a reference's name begins with a small letter",
		"[references.d]\ndescription = \"x\"":                                "references.d.path: is missing",
		"[references.d]\npath = \"docs\"":                                    "must be an absolute path",
		"[references.d]\npath = \"/d\"\ndescription = \"a\\nb\"":             "must be one line of at most 1024 bytes",
		"[references.explore]\npath = \"/d\"":                                "has the name of an agent",
		"[commands.c]\ndescription = \"x\"":                                  "commands.c.template: is missing",
		"[commands.c]\ntemplate = \"  \"":                                    "is empty",
		"[commands.c]\ntemplate = \"a\"\ntemplate_file = \"/a\"":             "has no place beside template",
		"[commands.c]\ntemplate_file = \"/not/there\"":                       "commands.c.template_file",
		"[commands.c]\ntemplate = '!`cat \"$1\"`'":                           "has $1 in quotes",
		"[commands.c]\ntemplate = \"a\"\nagent = \"explore\"":                "is no agent of the mode primary or all",
		"[commands.c]\ntemplate = \"a\"\nmodel = \"nobody/m\"":               "there is no provider \"nobody\"",
		"[commands.c]\ntemplate = \"a\"\nmodel = \"m\"":                      `must be "provider/model"`,
		"[commands.c]\ntemplate = \"a\"\nvariant = \"high\"":                 "has no use without a model",
		"[commands.\"C d\"]\ntemplate = \"a\"":                               "a command's name begins with a small letter",
		"[commands.c]\ntemplate = \"" + strings.Repeat("x", 64<<10+1) + "\"": "has 65537 bytes, the limit is 65536",
		"[commands.c]\ntemplate = \"a\"\ndescription = \"a\\tb\"":            "must be one line",
	} {
		_, environ := home(t, text)
		_, err := config.Load(config.Sources{Environ: environ})
		var wrong *config.Error
		if !errors.As(err, &wrong) || len(wrong.Problems) != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}
