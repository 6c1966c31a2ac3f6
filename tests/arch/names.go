package arch

import (
	"fmt"
	"slices"
)

// CheckNames reports every package that a rule names and that does not exist: a
// renamed package must not take its rule along silently.
func CheckNames(graph Graph) []string {
	existing := ours(graph)
	var found []string
	stale := func(where, path string) {
		found = append(found, fmt.Sprintf("%s (%s) does not exist; remove or rename it in tests/arch and .golangci.yml", path, where))
	}
	packages := func(where string, paths ...string) {
		for _, path := range paths {
			if existing[path] == nil {
				stale(where, path)
			}
		}
	}
	folders := func(where string, paths ...string) {
		for _, path := range paths {
			if !anyUnder(existing, path) {
				stale(where, path)
			}
		}
	}
	for _, layer := range Layers() {
		packages("layer "+layer.Name, layer.Packages...)
	}
	for _, leaf := range Leaves() {
		packages("leaf", leaf.Package)
	}
	for _, library := range Libraries() {
		packages("importer of "+library.Path, library.Importers...)
	}
	for _, seal := range Seals() {
		folders("seal", seal.Package)
		folders("importer of "+seal.Package, seal.Importers...)
	}
	slices.Sort(found)
	return found
}

func anyUnder(packages map[string]*Package, folder string) bool {
	for path := range packages {
		if under(path, folder) {
			return true
		}
	}
	return false
}
