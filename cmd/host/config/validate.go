package config

import (
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // for machines that know no time zones

	"github.com/plinthhost/plinth/session"
)

var (
	name     = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)
	pluginID = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}/[a-z0-9][a-z0-9_-]{0,63}$`)
	hostname = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)
	// headerName is an HTTP token.
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$")
)

// validate checks the values that all layers together gave.
func (l *loader) validate() {
	c := &l.config
	l.chosenAgent()
	l.timezone()
	l.listen()
	for i, host := range c.AllowedHosts {
		if net.ParseIP(host) == nil && !hostname.MatchString(host) {
			l.problem(join("allowed_hosts", strconv.Itoa(i)), host, `must be a host's name without scheme and port, like "plinth.example"`)
		}
	}
	for i, text := range c.AllowedOrigins {
		if !isOrigin(text) {
			l.problem(join("allowed_origins", strconv.Itoa(i)), text, `must be an origin without a path, like "https://plinth.example:8443"`)
		}
	}
	c.Data = l.absolute("data", c.Data)
	for i, folder := range c.Plugins.Folders {
		c.Plugins.Folders[i] = l.absolute(join("plugins", "folders", strconv.Itoa(i)), folder)
	}
	for i, file := range c.Plugins.Files {
		c.Plugins.Files[i] = l.absolute(join("plugins", "files", strconv.Itoa(i)), file)
	}
	for _, id := range slices.Sorted(maps.Keys(c.Plugins.Settings)) {
		if !pluginID.MatchString(id) {
			l.problem(join("plugins", id), nil, `a plugin's table is named by its id, like [plugins."acme/weather"]`)
		}
	}
	l.providers()
	l.mcp()
	l.offered("model", c.Model)
	l.rules(join("permissions", "rules"), c.Rules)
	l.checkRunner()
	l.checkToolOutput()
	l.checkInstructions()
	l.checkCompaction()
	l.checkExpansion()
	l.checkRetention()
	l.checkSnapshots()
	l.checkTitles()
	l.checkProcess()
	l.within(join("engine", "memory_mib"), c.Engine.MemoryMiB, 16, 1<<20)
	l.within(join("engine", "tools"), c.Engine.Tools, 0, 1024)
	l.within(join("engine", "quick"), c.Engine.Quick, 0, 1024)
	l.oneOf(join("log", "level"), c.LogLevel, "trace", "debug", "info", "warn", "error")
}

func (l *loader) listen() {
	host, port, err := net.SplitHostPort(l.config.Listen)
	if n, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil || n > 65535 || host != "localhost" && net.ParseIP(host) == nil {
		l.problem("listen", l.config.Listen, `must be an IP address or localhost with a port, like "127.0.0.1:4747"`)
	}
}

// timezone finds the zone. "Local" and "UTC" are names to the library, of which only the
// second says the same on every machine.
func (l *loader) timezone() {
	name := l.config.Timezone
	if name == "" {
		return
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		l.problem("timezone", name, `must be the name of a time zone, like "Europe/Berlin" or "UTC"; leave it out for this machine's`)
		return
	}
	l.config.zone = zone
}

// isOrigin reports whether text is scheme, host and perhaps port, and no more.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.Scheme+"://"+u.Host == text
}

// absolute answers an absolute path; "~/" is the user's home.
func (l *loader) absolute(key, text string) string {
	path := text
	if rest, ok := strings.CutPrefix(text, "~/"); ok && l.home != "" {
		path = filepath.Join(l.home, rest)
	}
	if !filepath.IsAbs(path) {
		l.problem(key, text, "must be an absolute path, or begin with ~/")
		return text
	}
	return filepath.Clean(path)
}

// providerNames are the providers that there are.
func (l *loader) providerNames() []string {
	return append([]string{offline}, slices.Sorted(maps.Keys(l.config.Providers))...)
}

// offered checks a model, set at key, against the providers.
func (l *loader) offered(key string, model session.ModelRef) {
	text := model.Provider + "/" + model.Model
	if l.config.Models[model].Disabled {
		l.problem(key, text, "is disabled in [models.%q]; choose another, or remove disabled there", text)
		return
	}
	if model.Provider == offline {
		if model.Model != offlineModel {
			l.problem(key, text, `the provider offline has one model, "offline/rules"`)
		}
		return
	}
	provider, ok := l.config.Providers[model.Provider]
	if !ok {
		l.problem(key, text, "there is no provider %q; known are %s; add a table [providers.%s]",
			model.Provider, strings.Join(l.providerNames(), ", "), model.Provider)
		return
	}
	if len(provider.Models) > 0 && !slices.Contains(provider.Models, model.Model) {
		l.problem(key, text, "the models of %q are %s", model.Provider, strings.Join(provider.Models, ", "))
	}
}

// rules checks a list of rules.
func (l *loader) rules(list string, rules []Rule) {
	for i, rule := range rules {
		key := func(field string) string { return join(list, strconv.Itoa(i), field) }
		if rule.Action == "" {
			l.problem(key("action"), nil, `is missing; give an action like "read", or "*"`)
		}
		if rule.Resource == "" {
			l.problem(key("resource"), nil, `is missing; give a pattern like "docs/*", or "*"`)
		}
		l.oneOf(key("effect"), rule.Effect, "allow", "ask", "deny")
	}
}

func (l *loader) within(key string, n, least, most int) {
	if n < least || n > most {
		l.problem(key, n, "must be from %d to %d", least, most)
	}
}

func (l *loader) oneOf(key, text string, allowed ...string) {
	if !slices.Contains(allowed, text) {
		l.problem(key, text, "must be one of %s", strings.Join(allowed, ", "))
	}
}
