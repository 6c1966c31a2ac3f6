package config_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/compaction"
)

// home makes a user's home with the given config.toml and answers its environment.
func home(t *testing.T, text string) (dir string, environ []string) {
	t.Helper()
	dir = t.TempDir()
	if text != "" {
		folder := filepath.Join(dir, ".config", "plinth")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "config.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, []string{"HOME=" + dir, "PATH=/bin"}
}

func TestDefaults(t *testing.T) {
	dir, environ := home(t, "")
	got, err := config.Load(config.Sources{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Model: session.ModelRef{Provider: "offline", Model: "rules"}, Agent: "build", Agents: session.DefaultAgents(), Listen: "127.0.0.1:4747",
		Data: filepath.Join(dir, ".local/share/plinth"), Runner: runner(25, 16), Engine: config.Engine{MemoryMiB: 1024}, Compaction: compaction.DefaultSettings(), ToolOutput: config.ToolOutput{MaxLines: 2000, MaxBytes: 51200, KeepDays: 7},
		Shell:     config.Shell{Enabled: true, TimeoutMS: 600_000},
		Snapshots: config.Snapshots{Enabled: true, MaxFileBytes: 8 << 20, MaxFiles: 50_000, TimeoutMS: 10_000, KeepDays: 7}, Titles: config.Titles{Enabled: true},
		Retention: config.Retention{Keep: "all"}, Process: config.Process{Sandbox: "auto", SandboxNetwork: true},
		LogLevel: "info", ProjectConfig: true, File: filepath.Join(dir, ".config/plinth/config.toml"),
		Skills: config.Skills{Folders: []string{filepath.Join(dir, ".config/plinth/skills")}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(config.Config{})); diff != "" {
		t.Error(diff)
	}
}

// runner is the default with other numbers of turns and tools.
func runner(turns, tools int) config.Runner {
	return config.Runner{MaxTurns: turns, MaxParallelTools: tools, MaxCallsPerTurn: 128, Recovery: "ask", RetryAttempts: 4, RetryMaxWaitMS: 900000,
		FirstEventMS: 60000, IdleMS: 120000, ShutdownGraceMS: 10000, MaxPending: 256, MaxSteers: 32, StructuredRetries: 2}
}

const full = `
model = "local/llama/3"
agent = "plan"
listen = "[::1]:0"
timezone = "Europe/Berlin"
allowed_hosts = ["plinth.example", "10.0.0.1"]
allowed_origins = ["https://plinth.example:8443"]
data = "~/data"

[providers.local]
plugin = "core/openai"
base_url = "http://127.0.0.1:8080/v1"
secret = "env:PLINTH_LOCAL_KEY"
models = ["llama/3", "other"]

[permissions]
rules = [
  {action = "*", resource = "*", effect = "ask"},
  {action = "read", resource = "docs/*", effect = "allow"},
]

[runner]
max_turns = 3
max_parallel_tools = 2

[plugins]
folders = ["/opt/plugins", "~/plugins/"]

[process]
shell = "zsh"
inherit = ["DISPLAY", "CARGO_*"]
sandbox = "on"
sandbox_write = ["~/go/bin", "/srv"]
sandbox_network = false

[plugins."acme/weather"]
enabled = false

[plugins."acme/rules"]
required = true
config = {rules = ["be kind"], level = 3}

[plugins."acme/rules".secrets]
rules-key = "env:RULES_KEY"
other-key = "file:/keys/other"

[log]
level = "debug"
`

func TestFile(t *testing.T) {
	dir, environ := home(t, full)
	got, err := config.Load(config.Sources{Environ: append(environ, "PLINTH_LOCAL_KEY=x")})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Model: session.ModelRef{Provider: "local", Model: "llama/3"}, Agent: "plan", Agents: session.DefaultAgents(), Timezone: "Europe/Berlin", Listen: "[::1]:0",
		AllowedHosts: []string{"plinth.example", "10.0.0.1"}, AllowedOrigins: []string{"https://plinth.example:8443"},
		Data: filepath.Join(dir, "data"),
		Providers: map[string]config.Provider{"local": {Plugin: "core/openai", BaseURL: "http://127.0.0.1:8080/v1",
			Secret: "env:PLINTH_LOCAL_KEY", Models: []string{"llama/3", "other"}}},
		Rules:  []config.Rule{{Action: "*", Resource: "*", Effect: "ask"}, {Action: "read", Resource: "docs/*", Effect: "allow"}},
		Runner: runner(3, 2), Engine: config.Engine{MemoryMiB: 1024}, Compaction: compaction.DefaultSettings(), ToolOutput: config.ToolOutput{MaxLines: 2000, MaxBytes: 51200, KeepDays: 7},
		Snapshots: config.Snapshots{Enabled: true, MaxFileBytes: 8 << 20, MaxFiles: 50_000, TimeoutMS: 10_000, KeepDays: 7}, Titles: config.Titles{Enabled: true},
		Retention: config.Retention{Keep: "all"},
		Process:   config.Process{Shell: "zsh", Inherit: []string{"DISPLAY", "CARGO_*"}, Sandbox: "on", SandboxWrite: []string{filepath.Join(dir, "go/bin"), "/srv"}},
		Plugins: config.Plugins{Folders: []string{"/opt/plugins", filepath.Join(dir, "plugins")}, Settings: map[string]config.Plugin{
			"acme/weather": {Enabled: new(false)}, "acme/rules": {Required: true, Config: json.RawMessage(`{"level":3,"rules":["be kind"]}`),
				Secrets: map[string]string{"rules-key": "env:RULES_KEY", "other-key": "file:/keys/other"}}}},
		Shell:    config.Shell{Enabled: true, TimeoutMS: 600_000},
		LogLevel: "debug", ProjectConfig: true, File: filepath.Join(dir, ".config/plinth/config.toml"),
		Skills: config.Skills{Folders: []string{filepath.Join(dir, ".config/plinth/skills")}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(config.Config{})); diff != "" {
		t.Error(diff)
	}
}

func TestLayers(t *testing.T) {
	_, environ := home(t, "agent = \"file\"\nlisten = \"127.0.0.1:1\"\ndata = \"/file\"\nallowed_hosts = [\"bad host\"]\n[agents.file]\n[runner]\nmax_turns = 0\n[log]\nlevel = \"loud\"\n")
	got, err := config.Load(config.Sources{
		Environ: append(environ, "PLINTH_LISTEN=127.0.0.1:2", "PLINTH_DATA=/variable", "PLINTH_RUNNER_MAX_TURNS=nonsense",
			"PLINTH_ALLOWED_HOSTS=a.example, b.example", "PLINTH_PLUGINS_FOLDERS=/a:/b", "PLINTH_LOG_LEVEL=warn", "PLINTH_TOKEN=x"),
		Flags:   config.Overrides{Data: "/flag", MaxTurns: 7, MaxParallelTools: 9},
		Foreign: []string{"PLINTH_TOKEN"},
	})
	if err != nil {
		t.Fatal(err) // what a later layer replaces cannot be wrong
	}
	seen := []any{got.Agent, got.Listen, got.Data, got.Runner.MaxTurns, got.Runner.MaxParallelTools, got.LogLevel, got.AllowedHosts, got.Plugins.Folders}
	want := []any{"file", "127.0.0.1:2", "/flag", 7, 9, "warn", []string{"a.example", "b.example"}, []string{"/a", "/b"}}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

// TestProblems gives one bad value each and wants the place, the value and what is
// allowed. FILE stands for the file's path.
func TestProblems(t *testing.T) {
	provider := "[providers.p]\nplugin = \"core/openai\"\nbase_url = \"https://x.example/v1\"\n"
	for name, test := range map[string]struct{ text, want string }{
		"syntax":           {"agent = ", "FILE:1: "},
		"twice":            {"agent = \"a\"\nagent = \"b\"", "FILE:2: "},
		"unknown":          {"\nmodle = \"x\"", "FILE:2: modle: unknown key; known here: model, agent, timezone, listen,"},
		"unknown table":    {"[loging]\nlevel = \"info\"", "FILE:1: loging: unknown key; known here: model,"},
		"unknown below":    {"[runner]\nmax_turn = 1", "FILE:2: runner.max_turn: unknown key; known here: max_turns, max_parallel_tools"},
		"unknown provider": {provider + "api_key = \"hush\"", "FILE:4: providers.p.api_key: unknown key; known here: plugin, base_url, secret, models"},
		"unknown rule":     {"[permissions]\nrules = [{action=\"*\", resource=\"*\", effect=\"ask\", effekt=\"ask\"}]", "FILE:2: permissions.rules.0.effekt: unknown key; known here: action, resource, effect"},
		"kind":             {"agent = 3", "FILE:1: agent: must be a string in quotes"},
		"kind of number":   {"[runner]\nmax_turns = \"3\"", "FILE:2: runner.max_turns: must be a whole number"},
		"kind of list":     {"allowed_hosts = \"a\"", "FILE:1: allowed_hosts: must be a list of strings"},
		"model":            {"\n\nmodel = \"gpt\"", `FILE:3: model = "gpt": must be "provider/model"`},
		"model unknown":    {"model = \"x/y\"\n" + provider, `FILE:1: model = "x/y": there is no provider "x"; known are offline, p; add a table [providers.x]`},
		"model of offline": {"model = \"offline/gpt\"", `FILE:1: model = "offline/gpt": the provider offline has one model`},
		"model not listed": {"model = \"p/y\"\n" + provider + "models = [\"z\"]", `FILE:1: model = "p/y": the models of "p" are z`},
		"agent unknown":    {"\nagent = \"coder\"", `FILE:2: agent = "coder": is no agent of the mode primary or all; those are build, plan; choose one of them, or configure [agents.coder]`},
		"agent of tasks":   {"agent = \"explore\"", `FILE:1: agent = "explore": is no agent of the mode primary or all`},
		"agent":            {"agent = \"Build It\"", `FILE:1: agent = "Build It": must be a name`},
		"listen":           {"listen = \"4747\"", `FILE:1: listen = "4747": must be an IP address or localhost with a port`},
		"listen port":      {"listen = \"127.0.0.1:99999\"", `FILE:1: listen = "127.0.0.1:99999": must be`},
		"listen name":      {"listen = \"example:1\"", `FILE:1: listen = "example:1": must be`},
		"hosts":            {"allowed_hosts = [\"a\",\n\"http://b\"]", `FILE:1: allowed_hosts.1 = "http://b": must be a host's name`},
		"origins":          {"allowed_origins = [\"https://a/\"]", `FILE:1: allowed_origins.0 = "https://a/": must be an origin`},
		"data":             {"data = \"here\"", `FILE:1: data = "here": must be an absolute path`},
		"provider name":    {strings.Replace(provider, ".p]", ".P]", 1), "FILE:1: providers.P: a provider's name"},
		"provider taken":   {strings.Replace(provider, ".p]", ".offline]", 1), "FILE:1: providers.offline: the name is taken"},
		"provider plugin":  {"[providers.p]\nbase_url = \"https://x.example\"", `FILE:1: providers.p.plugin = "": must be the id of a provider plugin`},
		"base URL":         {"[providers.p]\nplugin = \"core/openai\"\nbase_url = \"x.example\"", "FILE:3: providers.p.base_url: the base URL \"x.example\" must be like https://"},
		"secret in clear":  {"[providers.p]\nplugin = \"core/openai\"\nbase_url = \"http://x.example\"\nsecret = \"env:K\"", "FILE:3: providers.p.base_url: no secret is sent over plain http"},
		"secret pasted":    {provider + "secret = \"sk-hush\"", "FILE:4: providers.p.secret: a secret is given as a reference"},
		"keyring":          {provider + "secret = \"keyring:\"", "FILE:4: providers.p.secret: the secret reference keyring:… must name an item in 1 to 256 bytes"},
		"command":          {provider + "secret = \"command:./key\"", "FILE:4: providers.p.secret: the secret reference command:./key must name a program by an absolute path"},
		"empty model":      {provider + "models = [\"\"]", "FILE:4: providers.p.models: must have no empty name"},
		"effect":           {"[permissions]\nrules = [\n{action=\"*\", resource=\"*\", effect=\"ask\"},\n{action=\"*\", resource=\"*\", effect=\"maybe\"},\n]", `FILE:4: permissions.rules.1.effect = "maybe": must be one of allow, ask, deny`},
		"effect in tables": {"[[permissions.rules]]\naction=\"*\"\nresource=\"*\"\neffect=\"ask\"\n[[permissions.rules]]\naction=\"*\"\nresource=\"*\"\neffect=\"maybe\"", `FILE:8: permissions.rules.1.effect = "maybe": must be one of`},
		"rule's action":    {"[[permissions.rules]]\nresource=\"*\"\neffect=\"ask\"", "FILE:1: permissions.rules.0.action: is missing"},
		"rule's resource":  {"[[permissions.rules]]\naction=\"*\"\neffect=\"ask\"", "FILE:1: permissions.rules.0.resource: is missing"},
		"turns":            {"[runner]\nmax_turns = 0", "FILE:2: runner.max_turns = 0: must be from 1 to 1000"},
		"tools":            {"runner.max_parallel_tools = 257", "FILE:1: runner.max_parallel_tools = 257: must be from 1 to 256"},
		"plugin id":        {"[plugins.weather]\nenabled = true", `FILE:1: plugins.weather: a plugin's table is named by its id, like [plugins."acme/weather"]`},
		"plugin key":       {"[plugins.\"a/b\"]\nenable = true", `FILE:2: plugins."a/b".enable: unknown key; known here: enabled, required, order, engine, config, limits, record, secrets`},
		"plugin enabled":   {"[plugins.\"a/b\"]\nenabled = \"yes\"", `FILE:2: plugins."a/b".enabled = "yes": must be true or false`},
		"plugin required":  {"[plugins.\"a/b\"]\nrequired = 1", `FILE:2: plugins."a/b".required = 1: must be true or false`},
		"timezone":         {"timezone = \"Berlin\"", `FILE:1: timezone = "Berlin": must be the name of a time zone, like "Europe/Berlin" or "UTC"`},
		"timezone local":   {"timezone = \"Local\"", `FILE:1: timezone = "Local": must be the name of a time zone`},
		"timezone path":    {"timezone = \"../etc\"", `FILE:1: timezone = "../etc": must be the name of a time zone`},
		"provider system":  {provider + "system = \"" + strings.Repeat("x", 65537) + "\"", "FILE:4: providers.p.system: has 65537 bytes, the limit is 65536"},
		"plugin config":    {"[plugins.\"a/b\"]\nconfig = 1", `FILE:2: plugins."a/b".config = 1: must be a table`},
		"plugin secrets":   {"[plugins.\"a/b\"]\nsecrets = \"sk-hush\"", `FILE:2: plugins."a/b".secrets: must be a table of references by the plugin's handles`},
		"a list of them":   {"[plugins.\"a/b\"]\nsecrets = [\"env:hush\"]", `FILE:2: plugins."a/b".secrets: must be a table of references by the plugin's handles`},
		"secret's kind":    {"[plugins.\"a/b\".secrets]\nkey = [\"sk-hush\"]", `FILE:2: plugins."a/b".secrets.key: must be a reference, like env:WEATHER_KEY`},
		"pasted in plugin": {"[plugins.\"a/b\".secrets]\nold = \"env:OLD\"\nkey = \"sk-hush\"", `FILE:3: plugins."a/b".secrets.key: a secret is given as a reference, env:NAME, file:PATH`},
		"secret's file":    {"[plugins.\"a/b\"]\nsecrets = { key = \"file:key\" }", `FILE:2: plugins."a/b".secrets.key: the secret reference file:key must`},
		"process key":      {"[process]\nshel = \"bash\"", "FILE:2: process.shel: unknown key; known here: shell, inherit, sandbox, sandbox_write, sandbox_network"},
		"shell's kind":     {"[process]\nshell = [\"bash\"]", "FILE:2: process.shell: must be a string in quotes"},
		"inherit's kind":   {"[process]\ninherit = \"DISPLAY\"", "FILE:2: process.inherit: must be a list of strings"},
		"sandbox":          {"[process]\nsandbox = \"yes\"", `FILE:2: process.sandbox = "yes": must be one of off, auto, on`},
		"sandbox's kind":   {"[process]\nsandbox = true", `FILE:2: process.sandbox: must be a string in quotes`},
		"sandbox write":    {"[process]\nsandbox_write = [\"/a\", \"b\"]", `FILE:2: process.sandbox_write.1 = "b": must be an absolute path, or begin with ~/`},
		"sandbox network":  {"[process]\nsandbox = \"off\"\nsandbox_network = false", `FILE:3: process.sandbox_network = false: goes with the sandbox only; set sandbox = "auto" or "on", or leave it out`},
		"network's kind":   {"[process]\nsandbox_network = \"no\"", `FILE:2: process.sandbox_network: must be true or false`},
		"plugins key":      {"[plugins]\nfolder = 1", "FILE:2: plugins.folder: unknown key; known here: folders"},
		"plugin folders":   {"[plugins]\nfolders = [1]", "FILE:2: plugins.folders: must be a list of strings"},
		"plugin folder":    {"[plugins]\nfolders = [\"/a\", \"b\"]", `FILE:2: plugins.folders.1 = "b": must be an absolute path`},
		"level":            {"[log]\nlevel = \"loud\"", `FILE:2: log.level = "loud": must be one of trace, debug, info, warn, error`},
	} {
		t.Run(name, func(t *testing.T) {
			dir, environ := home(t, test.text)
			_, err := config.Load(config.Sources{Environ: environ})
			var e *config.Error
			if !errors.As(err, &e) || len(e.Problems) != 1 {
				t.Fatalf("want one problem: %v", err)
			}
			want := strings.ReplaceAll(test.want, "FILE", filepath.Join(dir, ".config/plinth/config.toml"))
			if !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v\nwant %s", err, want)
			}
			if strings.Contains(err.Error(), "hush") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

func TestProblemsOfVariablesAndFlags(t *testing.T) {
	_, environ := home(t, "agent = \"A\"\n[log]\nlevel = \"x\"\nlevle = \"y\"")
	_, err := config.Load(config.Sources{
		Environ: append(environ, "PLINTH_MODEL=gpt", "PLINTH_RUNNER_MAX_TURNS=many", "PLINTH_MODLE=x", "PLINTH_ALLOWED_HOSTS=a,b/c"),
		Flags:   config.Overrides{Listen: "x", PluginFolders: []string{"/a", "b"}},
	})
	for _, want := range []string{
		`config.toml:1: agent = "A"`, `config.toml:4: log.levle: unknown key`, `config.toml:3: log.level = "x"`, `PLINTH_MODEL: model = "gpt"`, `PLINTH_MODLE: unknown variable; known are PLINTH_CONFIG`,
		`PLINTH_RUNNER_MAX_TURNS: runner.max_turns = "many": must be a whole number`, `--listen: listen = "x"`,
		`PLINTH_ALLOWED_HOSTS: allowed_hosts.1 = "b/c"`, `--plugins: plugins.folders.1 = "b"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nhas no %s", err, want)
		}
	}
}

// TestDevelopment: plugins are granted all only where the operator says so.
func TestDevelopment(t *testing.T) {
	_, environ := home(t, "[plugins]\ndevelopment = false")
	for name, test := range map[string]struct {
		sources config.Sources
		want    bool
	}{
		"file":     {config.Sources{Environ: environ}, false},
		"variable": {config.Sources{Environ: append(environ, "PLINTH_PLUGINS_DEVELOPMENT=true")}, true},
		"flag":     {config.Sources{Environ: append(environ, "PLINTH_PLUGINS_DEVELOPMENT=false"), Flags: config.Overrides{Development: true}}, true},
	} {
		if got, err := config.Load(test.sources); err != nil || got.Plugins.Development != test.want {
			t.Errorf("%s: %v, %v", name, got.Plugins.Development, err)
		}
	}
	_, err := config.Load(config.Sources{Environ: append(environ, "PLINTH_PLUGINS_DEVELOPMENT=perhaps")})
	if err == nil || !strings.Contains(err.Error(), `PLINTH_PLUGINS_DEVELOPMENT: plugins.development = "perhaps": must be true or false`) {
		t.Error(err)
	}
}

func TestNamedFile(t *testing.T) {
	dir, environ := home(t, "agent = \"plan\"")
	other := filepath.Join(dir, "other.toml")
	if _, err := config.Load(config.Sources{Environ: environ, Flags: config.Overrides{File: other}}); err == nil || !strings.Contains(err.Error(), other) {
		t.Errorf("a named file that is not there: %v", err)
	}
	if err := os.WriteFile(other, []byte("agent = \"named\"\n[agents.named]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, sources := range []config.Sources{
		{Environ: append(environ, "PLINTH_CONFIG="+other)},
		{Environ: append(environ, "PLINTH_CONFIG=/nowhere"), Flags: config.Overrides{File: other}},
	} {
		got, err := config.Load(sources)
		if err != nil || got.Agent != "named" || got.File != other {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestFolders(t *testing.T) {
	for name, test := range map[string]struct {
		environ []string
		want    config.Folders
		wrong   string
	}{
		"home":     {environ: []string{"HOME=/h"}, want: config.Folders{Config: "/h/.config/plinth", Data: "/h/.local/share/plinth"}},
		"XDG":      {environ: []string{"XDG_CONFIG_HOME=/c", "XDG_DATA_HOME=/d"}, want: config.Folders{Config: "/c/plinth", Data: "/d/plinth"}},
		"relative": {environ: []string{"HOME=/h", "XDG_DATA_HOME=d"}, wrong: `XDG_DATA_HOME="d" must be an absolute path`},
		"nothing":  {wrong: "neither XDG_CONFIG_HOME nor HOME"},
	} {
		got, err := config.FindFolders(test.environ)
		if test.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// The variables that secrets are read from are named once each, in order, wherever
// the reference stands.
func TestSecretVariables(t *testing.T) {
	_, environ := home(t, `
[providers.a]
plugin = "core/openai"
base_url = "https://a.example"
secret = "env:SHARED"
[providers.b]
plugin = "core/openai"
base_url = "https://b.example"
secret = "file:/keys/b"
[providers.c]
plugin = "core/openai"
base_url = "https://c.example"
[plugins."acme/one".secrets]
a = "env:SHARED"
b = "env:ALONE"
[plugins."acme/two".secrets]
c = "keyring:item"
d = "env:ZULU"
`)
	got, err := config.Load(config.Sources{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ALONE", "SHARED", "ZULU"}, got.SecretVariables()); diff != "" {
		t.Error(diff)
	}
}

func TestTimezone(t *testing.T) {
	_, environ := home(t, `timezone = "Europe/Berlin"`)
	got, err := config.Load(config.Sources{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	if local := time.Date(2026, 7, 1, 22, 30, 0, 0, time.UTC).In(got.Zone()).Format(time.DateTime); local != "2026-07-02 00:30:00" {
		t.Errorf("half past midnight in summer is %s", local)
	}
	_, environ = home(t, "")
	if got, err = config.Load(config.Sources{Environ: environ}); err != nil || got.Zone() != nil {
		t.Errorf("without a setting the zone is %v, %v", got.Zone(), err)
	}
}
