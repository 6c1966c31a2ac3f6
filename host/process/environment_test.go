package process

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironment(t *testing.T) {
	in, err := newInherited([]string{"MY_TOOL", "NPM_CONFIG_*", "SSH_AUTH_SOCK"}, []string{"NPM_CONFIG_HIDDEN", "TZ"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := in.environment([]string{
		"PATH=/bin", "HOME=/home/me", "LANG=C", "LC_ALL=C", "LC_TIME=nb", "TERM=xterm", "PWD=/elsewhere", "SSH_AUTH_SOCK=/agent",
		"MY_TOOL=a=b", "NPM_CONFIG_CACHE=/cache",
		// None of these is seen.
		"NPM_CONFIG_HIDDEN=planted", "TZ=planted", "NPM_CONFIG_TOKEN=planted", "NPM_CONFIG__authToken=planted", "LC_API_KEY=planted",
		"OPENAI_API_KEY=planted", "GITHUB_TOKEN=planted", "AWS_SECRET_ACCESS_KEY=planted", "PGPASSWORD=planted", "PLINTH_DATA=planted",
		"BASH_ENV=planted", "ENV=planted", "BASH_FUNC_ls%%=planted", "LD_PRELOAD=planted", "UNKNOWN=planted", "MY_TOOL2=planted", "http_proxy=planted",
	}, map[string]string{"OWN": "1", "HOME": "/other", "GREETING_KEY": "given by the caller"}, "/project")
	want := map[string]string{
		"PATH": "/bin", "HOME": "/other", "LANG": "C", "LC_ALL": "C", "LC_TIME": "nb", "TERM": "dumb", "PWD": "/project", "SSH_AUTH_SOCK": "/agent",
		"MY_TOOL": "a=b", "NPM_CONFIG_CACHE": "/cache", "OWN": "1", "GREETING_KEY": "given by the caller",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	got, err = in.environment(nil, nil, "")
	if diff := cmp.Diff(map[string]string{"PATH": fallbackPath, "TERM": "dumb"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// A program sees what the table above says, and nothing of the real host besides.
func TestEnvironmentOfAProgram(t *testing.T) {
	t.Setenv("PLANTED_TOKEN", "planted")
	t.Setenv("HARMLESS_BUT_UNKNOWN", "planted")
	t.Setenv("NAMED_BY_A_REFERENCE", "planted")
	r := newRunner(t, Options{Inherit: []string{"NAMED_BY_*"}, Withhold: []string{"NAMED_BY_A_REFERENCE"}})
	result := run(t, r, Command{Argv: []string{"env"}, Environment: map[string]string{"OWN": "1"}})
	text := result.Output.Head
	if strings.Contains(text, "planted") || !strings.Contains(text, "\nOWN=1\n") || !strings.Contains(text, "\nTERM=dumb\n") || !strings.Contains("\n"+text, "\nPATH="+os.Getenv("PATH")+"\n") {
		t.Error(text)
	}
}
