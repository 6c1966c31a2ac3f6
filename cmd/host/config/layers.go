package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// layer is one setting as variables and flags give it. Several values are
// separated by commas, folders by colons.
type layer struct {
	key      string
	variable string
	flag     string
	take     func(l *loader, text string)
}

// layers are the settings that variables and flags can give.
func layers() []layer {
	return []layer{
		{"model", "PLINTH_MODEL", "--model", (*loader).model},
		{"agent", "PLINTH_AGENT", "--agent", func(l *loader, text string) { l.config.Agent = text }},
		{"listen", "PLINTH_LISTEN", "--listen", func(l *loader, text string) { l.config.Listen = text }},
		{"allowed_hosts", "PLINTH_ALLOWED_HOSTS", "--allowed-hosts", func(l *loader, text string) { l.config.AllowedHosts = list(text, ",") }},
		{"allowed_origins", "PLINTH_ALLOWED_ORIGINS", "--allowed-origins", func(l *loader, text string) { l.config.AllowedOrigins = list(text, ",") }},
		{"data", "PLINTH_DATA", "--data", func(l *loader, text string) { l.config.Data = text }},
		{join("runner", "max_turns"), "PLINTH_RUNNER_MAX_TURNS", "--max-turns",
			func(l *loader, text string) { l.number(join("runner", "max_turns"), text, &l.config.Runner.MaxTurns) }},
		{join("runner", "max_parallel_tools"), "PLINTH_RUNNER_MAX_PARALLEL_TOOLS", "--max-parallel-tools",
			func(l *loader, text string) {
				l.number(join("runner", "max_parallel_tools"), text, &l.config.Runner.MaxParallelTools)
			}},
		{join("plugins", "folders"), "PLINTH_PLUGINS_FOLDERS", "--plugins",
			func(l *loader, text string) { l.config.Plugins.Folders = list(text, string(filepath.ListSeparator)) }},
		{join("plugins", "development"), "PLINTH_PLUGINS_DEVELOPMENT", "--dev", (*loader).development},
		{"project_config", "PLINTH_DISABLE_PROJECT_CONFIG", "", (*loader).projectConfig},
		{join("log", "level"), "PLINTH_LOG_LEVEL", "--log-level", func(l *loader, text string) { l.config.LogLevel = text }},
	}
}

// development takes over what the variable or the flag says.
func (l *loader) development(text string) {
	value, err := strconv.ParseBool(text)
	if err != nil {
		l.problem(join("plugins", "development"), text, "must be true or false")
	}
	l.config.Plugins.Development = value
}

func list(text, separator string) []string {
	var parts []string
	for part := range strings.SplitSeq(text, separator) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

func (l *loader) number(key, text string, to *int) {
	n, err := strconv.Atoi(text)
	if err != nil {
		l.problem(key, text, "must be a whole number")
		return
	}
	*to = n
}

// give sets a value over what the layers before said.
func (l *loader) give(setting layer, source, text string) {
	l.forget(setting.key)
	l.origins[setting.key] = origin{source: source}
	setting.take(l, text)
}

// forget drops where a list's elements and what is wrong with a value came from,
// as another layer replaces it.
func (l *loader) forget(key string) {
	for other := range l.origins {
		if strings.HasPrefix(other, key+separator) {
			delete(l.origins, other)
		}
	}
	l.problems = slices.DeleteFunc(l.problems, func(p Problem) bool { return p.Key == display(key) })
}

// environment takes over the PLINTH_ variables. An unknown one is a problem: it is
// a setting that somebody believes to be in force.
func (l *loader) environment(foreign []string) {
	known := map[string]bool{"PLINTH_CONFIG": true}
	for _, name := range foreign {
		known[name] = true
	}
	for _, reference := range l.config.references() {
		if name, ok := strings.CutPrefix(reference, "env:"); ok {
			known[name] = true
		}
	}
	var names []string
	for _, setting := range layers() {
		known[setting.variable] = true
		names = append(names, setting.variable)
		if text := l.env[setting.variable]; text != "" {
			l.give(setting, setting.variable, text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		if strings.HasPrefix(name, "PLINTH_") && !known[name] {
			l.problems = append(l.problems, Problem{Source: name, Text: "unknown variable; known are PLINTH_CONFIG, " + strings.Join(names, ", ")})
		}
	}
}

// flags takes over what the command line gave.
func (l *loader) flags(flags Overrides) {
	given := map[string]string{
		"--model": flags.Model, "--agent": flags.Agent, "--listen": flags.Listen, "--data": flags.Data, "--log-level": flags.LogLevel,
		"--allowed-hosts": strings.Join(flags.AllowedHosts, ","), "--allowed-origins": strings.Join(flags.AllowedOrigins, ","),
		"--plugins": strings.Join(flags.PluginFolders, string(filepath.ListSeparator)),
	}
	if flags.Development {
		given["--dev"] = "true"
	}
	if flags.MaxTurns != 0 {
		given["--max-turns"] = strconv.Itoa(flags.MaxTurns)
	}
	if flags.MaxParallelTools != 0 {
		given["--max-parallel-tools"] = strconv.Itoa(flags.MaxParallelTools)
	}
	for _, setting := range layers() {
		if text := given[setting.flag]; text != "" {
			l.give(setting, setting.flag, text)
		}
	}
}
