package main

import (
	"encoding/json"
	"strings"
)

// pinning is a file in the project's root, and how it is read.
type pinning struct {
	name string
	read func(text string) []pin
}

// files are those that are looked at, in the order in which they are told.
func files() []pinning {
	return []pinning{
		{".tool-versions", toolVersions},
		{"go.mod", goMod},
		{"package.json", packageJSON},
		{".nvmrc", whole("node")},
		{".node-version", whole("node")},
		{"Cargo.toml", settings("package", map[string]string{"rust-version": "rust", "edition": "rust edition"})},
		{"rust-toolchain.toml", settings("toolchain", map[string]string{"channel": "rust"})},
		{"rust-toolchain", whole("rust")},
		{"pyproject.toml", settings("project", map[string]string{"requires-python": "python"})},
		{".python-version", whole("python")},
		{".ruby-version", whole("ruby")},
		{"Dockerfile", dockerfile},
	}
}

// whole is a file that holds a version and nothing else.
func whole(name string) func(string) []pin {
	return func(text string) []pin {
		first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		if strings.HasPrefix(first, "#") || strings.HasPrefix(first, "[") {
			return nil
		}
		return []pin{{Name: name, Version: first}}
	}
}

// toolVersions reads the lines of asdf and mise: a tool, and the versions to try in turn.
func toolVersions(text string) (pins []pin) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if fields := strings.Fields(line); len(fields) > 1 {
			pins = append(pins, pin{Name: fields[0], Version: strings.Join(fields[1:], " or ")})
		}
	}
	return pins
}

func goMod(text string) (pins []pin) {
	for line := range strings.Lines(text) {
		switch fields := strings.Fields(line); {
		case len(fields) < 2:
		case fields[0] == "go":
			pins = append(pins, pin{Name: "go", Version: fields[1]})
		case fields[0] == "toolchain":
			pins = append(pins, pin{Name: "go toolchain", Version: strings.TrimPrefix(fields[1], "go")})
		}
	}
	return pins
}

// packageJSON reads what npm, corepack and Volta are told.
func packageJSON(text string) (pins []pin) {
	var manifest struct {
		PackageManager string            `json:"packageManager"`
		Engines        map[string]string `json:"engines"`
		Volta          map[string]string `json:"volta"`
	}
	if json.Unmarshal([]byte(text), &manifest) != nil {
		return nil // somebody is at work on it, or it is too long
	}
	for _, name := range []string{"node", "npm", "pnpm", "yarn", "bun"} {
		if version := manifest.Engines[name]; version != "" {
			pins = append(pins, pin{Name: name, Version: version})
		}
		if version := manifest.Volta[name]; version != "" && version != manifest.Engines[name] {
			pins = append(pins, pin{Name: name, Version: version})
		}
	}
	if name, version, ok := strings.Cut(manifest.PackageManager, "@"); ok {
		version, _, _ = strings.Cut(version, "+") // a digest
		pins = append(pins, pin{Name: name, Version: version})
	}
	return pins
}

// settings reads keys of one table of a TOML file, whose values are strings.
func settings(table string, names map[string]string) func(string) []pin {
	return func(text string) (pins []pin) {
		within := false
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "[") {
				within = strings.HasPrefix(line, "["+table+"]")
				continue
			}
			key, value, ok := strings.Cut(line, "=")
			name := names[strings.TrimSpace(key)]
			if !ok || !within || name == "" {
				continue
			}
			if value = quoted(strings.TrimSpace(value)); value != "" {
				pins = append(pins, pin{Name: name, Version: value})
			}
		}
		return pins
	}
}

// quoted is what stands between quotes at the begin of a text, "" where there are none.
func quoted(text string) string {
	if text == "" || text[0] != '"' && text[0] != '\'' {
		return ""
	}
	value, _, ok := strings.Cut(text[1:], text[:1])
	if !ok {
		return ""
	}
	return value
}

// dockerfile reads the images that stages are built from.
func dockerfile(text string) (pins []pin) {
	stages, seen := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !strings.EqualFold(fields[0], "FROM") {
			continue
		}
		fields = fields[1:]
		for len(fields) > 1 && strings.HasPrefix(fields[0], "--") {
			fields = fields[1:]
		}
		image := fields[0]
		if len(fields) == 3 && strings.EqualFold(fields[1], "AS") {
			stages[strings.ToLower(fields[2])] = true
		}
		if stages[strings.ToLower(image)] && !strings.ContainsAny(image, ":/") || seen[image] {
			continue
		}
		seen[image] = true
		image, _, _ = strings.Cut(image, "@") // a digest
		if at := strings.LastIndexByte(image, ':'); at > strings.LastIndexByte(image, '/') {
			pins = append(pins, pin{Name: "image " + image[:at], Version: image[at+1:]})
		}
	}
	return pins
}
