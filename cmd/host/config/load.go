package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Sources are where the configuration comes from.
type Sources struct {
	// Environ is the environment as "NAME=value", like os.Environ.
	Environ []string
	// Flags override everything else.
	Flags Overrides
	// Foreign are PLINTH_ variables that belong to other parts of the program.
	Foreign []string
}

// Overrides are values given on the command line. Zero fields were not given.
type Overrides struct {
	File             string // --config
	Model            string // --model
	Agent            string // --agent
	Listen           string // --listen
	AllowedHosts     []string
	AllowedOrigins   []string
	Data             string // --data
	MaxTurns         int
	MaxParallelTools int
	PluginFolders    []string // --plugins
	Development      bool     // --dev
	LogLevel         string   // --log-level
}

// Folders are the user's folders of Plinth.
type Folders struct {
	Config string // $XDG_CONFIG_HOME/plinth, else ~/.config/plinth
	Data   string // $XDG_DATA_HOME/plinth, else ~/.local/share/plinth
}

// FindFolders answers the folders by the environment, on Linux and macOS alike.
func FindFolders(environ []string) (Folders, error) {
	env := Variables(environ)
	configs, err := xdg(env, "XDG_CONFIG_HOME", ".config")
	if err != nil {
		return Folders{}, err
	}
	data, err := xdg(env, "XDG_DATA_HOME", ".local/share")
	if err != nil {
		return Folders{}, err
	}
	return Folders{Config: configs, Data: data}, nil
}

func xdg(env map[string]string, name, below string) (string, error) {
	base := env[name]
	if base == "" {
		if !filepath.IsAbs(env["HOME"]) {
			return "", fmt.Errorf("neither %s nor HOME is an absolute path; set one", name)
		}
		base = filepath.Join(env["HOME"], below)
	}
	if !filepath.IsAbs(base) {
		return "", fmt.Errorf("%s=%q must be an absolute path", name, base)
	}
	return filepath.Join(base, "plinth"), nil
}

// Variables answers an environment by name.
func Variables(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}

// Load reads the configuration. What is wrong with it is an *Error with every
// problem; that the file cannot be read is an error of its own. A file that is not
// there is no error unless it was named.
func Load(sources Sources) (Config, error) {
	folders, err := FindFolders(sources.Environ)
	if err != nil {
		return Config{}, fmt.Errorf("find the configuration: %w", err)
	}
	l := &loader{
		config:  defaults(folders),
		env:     Variables(sources.Environ),
		home:    Variables(sources.Environ)["HOME"],
		folder:  folders.Config,
		origins: origins{},
	}
	if err := l.file(folders, sources.Flags.File); err != nil {
		return Config{}, err
	}
	l.environment(sources.Foreign)
	l.flags(sources.Flags)
	l.validate()
	if len(l.problems) > 0 {
		return Config{}, &Error{Problems: l.problems}
	}
	l.config.origins = l.origins
	return l.config, nil
}

// loader gathers the layers, where each value came from, and what is wrong.
type loader struct {
	config   Config
	env      map[string]string
	home     string
	folder   string // of the agents, commands and skills that are files
	origins  origins
	problems []Problem
}

// file reads the configuration file.
func (l *loader) file(folders Folders, flag string) error {
	path, named := filepath.Join(folders.Config, "config.toml"), false
	for _, other := range []string{l.env["PLINTH_CONFIG"], flag} {
		if other != "" {
			path, named = other, true
		}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("find the configuration: %w", err)
	}
	l.config.File = path
	data, err := os.ReadFile(path)
	if err != nil && (named || !errors.Is(err, fs.ErrNotExist)) {
		return fmt.Errorf("read the configuration: %w", err)
	}
	l.decode(path, data)
	return nil
}
