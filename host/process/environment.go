package process

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// usual are the variables of the host that every command sees: where the user's
// programs, files and toolchains are, and the language.
var usual = [...]string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LC_*",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME",
	"GOROOT", "GOPATH", "GOBIN", "GOCACHE", "GOMODCACHE", "GOTOOLCHAIN", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME",
	"NVM_DIR", "NVM_BIN", "PYENV_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX", "SDKROOT", "DEVELOPER_DIR", "HOMEBREW_PREFIX",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_SSL_CERT_FILE", "NIX_PROFILES",
}

// fallbackPath is where programs are when the host has no PATH.
const fallbackPath = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

var (
	// secretName are the words in the name of a variable that holds a secret. The
	// socket of an agent is none, although its name has one of them.
	secretName = regexp.MustCompile(`(?i)KEY|TOKEN|SECRET|PASS|PWD|CREDENTIAL|AUTH|COOKIE|PRIVATE|DSN|DATABASE_URL|CONNECTION_STRING|WEBHOOK|^PLINTH_`)
	// startUp are the variables by which a shell reads or runs something at its start.
	startUp = regexp.MustCompile(`^(BASH_ENV|ENV|ZDOTDIR|SHELLOPTS|BASHOPTS|BASH_FUNC_.*)$`)
)

func isSecret(name string) bool {
	return secretName.MatchString(name) && name != "SSH_AUTH_SOCK"
}

// inherited says which variables of the host a command sees.
type inherited struct {
	names    map[string]bool
	prefixes []string
	withheld map[string]bool
}

func newInherited(inherit, withhold []string) (inherited, error) {
	in := inherited{names: map[string]bool{}, withheld: map[string]bool{}}
	for _, name := range slices.Concat(usual[:], inherit) {
		prefix, many := strings.CutSuffix(name, "*")
		switch {
		case prefix == "" || strings.ContainsAny(prefix, "*=\x00"):
			return in, invalid("Inherit", "has %s; give NAME or PREFIX_*", quote(name))
		case startUp.MatchString(prefix):
			return in, invalid("Inherit", "has %s, by which shells read or run something at their start; take it out", quote(name))
		case many:
			in.prefixes = append(in.prefixes, prefix)
		case isSecret(name):
			return in, invalid("Inherit", "has %s, which looks like a secret; commands never get those from the host", quote(name))
		default:
			in.names[name] = true
		}
	}
	for _, name := range withhold {
		in.withheld[name] = true
	}
	return in, nil
}

// sees says whether a command sees the host's variable.
func (in inherited) sees(name string) bool {
	if in.withheld[name] || isSecret(name) || startUp.MatchString(name) {
		return false
	}
	return in.names[name] || slices.ContainsFunc(in.prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// environment is what a command sees: some of the host's variables, its own, and
// the working directory as its path is written, "" when that is not known.
func (in inherited) environment(host []string, own map[string]string, directory string) (map[string]string, error) {
	all := map[string]string{"PATH": fallbackPath}
	for _, variable := range host {
		if name, value, _ := strings.Cut(variable, "="); in.sees(name) {
			all[name] = value
		}
	}
	all["TERM"] = "dumb"
	for name, value := range own {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return nil, invalid("Environment", "has the name %s, which no variable can have", quote(name))
		case strings.ContainsRune(value, 0):
			return nil, invalid("Environment["+name+"]", "has a NUL character in it")
		case startUp.MatchString(name):
			return nil, invalid("Environment["+name+"]", "would make a shell read or run something at its start; take it out")
		}
		all[name] = value
	}
	delete(all, "PWD")
	if directory != "" {
		all["PWD"] = directory
	}
	return all, nil
}

// variables are an environment as the system takes them, in a fixed order.
func variables(all map[string]string) []string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		texts = append(texts, name+"="+all[name])
	}
	return texts
}
