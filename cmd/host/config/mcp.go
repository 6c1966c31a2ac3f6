package config

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/secret"
)

// MCP is one [mcp.NAME]: a server of the Model Context Protocol. It has either Command
// or URL.
type MCP struct {
	// Command is a program and its arguments, run in the operator's home.
	Command []string `toml:"command"`
	// URL is the endpoint of a server that is reached over HTTP.
	URL string `toml:"url"`
	// Env are variables of the program: references to secrets, or texts.
	Env map[string]string `toml:"env"`
	// Headers go along with every request to the URL: references to secrets, or texts.
	Headers map[string]string `toml:"headers"`
	// Secret is a reference to the bearer token that goes to the URL.
	Secret string `toml:"secret"`
	// Enabled is nil where the configuration does not say: true.
	Enabled *bool `toml:"enabled"`
	// TimeoutMS bounds one call; 0 for 60,000.
	TimeoutMS int `toml:"timeout_ms"`
	// Tools says which of its tools there are.
	Tools MCPTools `toml:"tools"`
	// Describe is how many tools are described whole in each request; nil for 20.
	Describe *int `toml:"describe"`
}

// MCPTools are patterns of a server's own names of tools, with * and ?.
type MCPTools struct {
	Allow []string `toml:"allow"` // empty for all
	Deny  []string `toml:"deny"`
}

// mcpName is what begins the names of a server's tools; no _ in it, so that no two
// servers have one name for a tool.
var mcpName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// mcpIndex is the name of what searches servers.
const mcpIndex = "index"

// maxDescribed bounds how many tools of a server are described whole.
const maxDescribed = 512

func (l *loader) mcp() {
	for _, id := range slices.Sorted(maps.Keys(l.config.MCP)) {
		server, at := l.config.MCP[id], join("mcp", id)
		switch {
		case id == mcpIndex:
			l.problem(at, nil, "the name is taken by what searches the servers; choose another")
		case !mcpName.MatchString(id):
			l.problem(at, nil, "a server's name begins with a small letter and has small letters, digits and - only, at most 32")
		}
		switch {
		case len(server.Command) == 0 && server.URL == "":
			l.problem(at, nil, `has neither command nor url; give one, like command = ["program", "argument"]`)
		case len(server.Command) > 0 && server.URL != "":
			l.problem(join(at, "url"), nil, "has no place beside command; leave one out")
		case server.URL != "":
			l.mcpURL(at, server)
		default:
			l.mcpCommand(at, server)
		}
		l.within(join(at, "timeout_ms"), server.TimeoutMS, 0, maxWait)
		if server.Describe != nil {
			l.within(join(at, "describe"), *server.Describe, 0, maxDescribed)
		}
		l.patterns(join(at, "tools", "allow"), server.Tools.Allow)
		l.patterns(join(at, "tools", "deny"), server.Tools.Deny)
	}
}

func (l *loader) patterns(key string, patterns []string) {
	if i := slices.Index(patterns, ""); i >= 0 {
		l.problem(join(key, strconv.Itoa(i)), nil, "must be a tool's name, or a pattern with * and ?")
	}
}

func (l *loader) mcpCommand(at string, server MCP) {
	if slices.ContainsFunc(server.Command, func(part string) bool { return strings.ContainsRune(part, 0) }) || server.Command[0] == "" {
		l.problem(join(at, "command"), nil, "must be a program and its arguments, without NUL characters")
	}
	if len(server.Headers) > 0 {
		l.problem(join(at, "headers"), nil, "has no use beside command; give env")
	}
	if server.Secret != "" {
		l.problem(join(at, "secret"), nil, "has no use beside command; give it in env")
	}
	for _, name := range slices.Sorted(maps.Keys(server.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(server.Env[name], 0) {
			l.problem(join(at, "env", name), nil, "must be the name of a variable and its value")
		}
		l.valueOrReference(join(at, "env", name), server.Env[name])
	}
}

func (l *loader) mcpURL(at string, server MCP) {
	withSecret := server.Secret != ""
	for _, name := range slices.Sorted(maps.Keys(server.Headers)) {
		key, value := join(at, "headers", name), server.Headers[name]
		switch {
		case strings.EqualFold(name, "Authorization"):
			l.problem(key, nil, "is not given here; give the bearer token as secret")
		case !headerName.MatchString(name) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
			l.problem(key, nil, "must be the name of a header and a value of one line")
		}
		l.valueOrReference(key, value)
		withSecret = withSecret || secret.IsReference(value)
	}
	if _, err := egress.CheckBaseURL(server.URL, withSecret); err != nil {
		l.problem(join(at, "url"), nil, "%v", err)
	}
	l.reference(join(at, "secret"), server.Secret)
	if len(server.Env) > 0 {
		l.problem(join(at, "env"), nil, "has no use beside url; give headers or secret")
	}
}

// valueOrReference checks a value that is a reference to a secret, or not.
func (l *loader) valueOrReference(key, value string) {
	if secret.IsReference(value) {
		l.reference(key, value)
	}
}

// references are those of the server's secrets.
func (s MCP) references() []string {
	all := []string{s.Secret}
	for _, values := range []map[string]string{s.Env, s.Headers} {
		for _, value := range values {
			if secret.IsReference(value) {
				all = append(all, value)
			}
		}
	}
	return all
}
