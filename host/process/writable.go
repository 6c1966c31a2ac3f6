package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// kept is what a tool keeps for all projects, and must be able to write.
type kept struct {
	// program makes the paths at its first use; "" when they are there or left out.
	program string
	paths   []string
}

// tools answers what the tools of Go, Rust, Node and Maven keep. Their programs and
// settings are not among it: what a command wrote there others would run.
func tools(home string, variable func(name string) string) []kept {
	at := func(name, folder string) string {
		if value := variable(name); value != "" || home == "" {
			return value
		}
		return filepath.Join(home, folder)
	}
	below := func(folder string, names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(folder, name))
		}
		return paths
	}
	gopath, _, _ := strings.Cut(at("GOPATH", "go"), string(filepath.ListSeparator))
	cargo := at("CARGO_HOME", ".cargo")
	return []kept{
		{"go", append(below(gopath, "pkg"), variable("GOCACHE"), variable("GOMODCACHE"))},
		{"cargo", below(cargo, "registry", "git")},
		{"", below(cargo, ".package-cache", ".package-cache-mutate", ".global-cache")},
		{"npm", below(home, ".npm")},
		{"", below(home, ".bun/install/cache", ".yarn/berry")},
		{"", below(at("XDG_DATA_HOME", ".local/share"), "pnpm/store")},
		{"mvn", below(home, ".m2/repository")},
	}
}

// Usual answers what the sandbox lets every command write to beside its project: the
// folders for temporary files, the user's caches, and what the tools of Go, Rust, Node
// and Maven keep. Variable is os.Getenv, and home the user's folder or "".
func Usual(home string, variable func(name string) string) []string {
	paths := []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm"}
	if cache, err := os.UserCacheDir(); err == nil {
		paths = append(paths, cache)
	}
	for _, tool := range tools(home, variable) {
		paths = append(paths, tool.paths...)
	}
	return slices.DeleteFunc(paths, func(path string) bool { return !filepath.IsAbs(path) })
}

// Wanted answers those of Usual that an installed tool makes at its first use, which in
// the sandbox it could not, and the user's cache folder.
func Wanted(home string, variable func(name string) string) []string {
	var paths []string
	if cache, err := os.UserCacheDir(); err == nil {
		paths = append(paths, cache)
	}
	for _, tool := range tools(home, variable) {
		if _, err := exec.LookPath(tool.program); err == nil {
			paths = append(paths, tool.paths...)
		}
	}
	return slices.DeleteFunc(paths, func(path string) bool { return !filepath.IsAbs(path) })
}
