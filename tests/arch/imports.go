package arch

import (
	"fmt"
	"slices"
	"strings"
)

// CheckLayers reports every import between packages of ours that the table, the
// seals or the leaves forbid.
func CheckLayers(graph Graph) []string {
	rank := map[string]int{}
	layers := Layers()
	for i, layer := range layers {
		for _, path := range layer.Packages {
			rank[path] = i
		}
	}
	var found []string
	for path, p := range ours(graph) {
		if guest(path) || testOnly(path) {
			continue
		}
		line, ok := rank[path]
		if !ok {
			found = append(found, fmt.Sprintf("%s stands in no layer; add it to the table in tests/arch/layers.go and to .golangci.yml", path))
			continue
		}
		for _, imported := range p.Imports {
			target, isOurs := relative(imported)
			if !isOurs || testOnly(target) {
				continue
			}
			if lower, ok := rank[target]; ok && lower <= line {
				found = append(found, fmt.Sprintf("%s (%s) imports %s (%s), which is not on a lower line of the table; turn the dependency round or declare an interface where it is used",
					path, layers[line].Name, target, layers[lower].Name))
			}
		}
	}
	found = append(found, checkKernel(graph)...)
	found = append(found, checkSeals(graph)...)
	found = append(found, checkLeaves(graph)...)
	found = append(found, checkGuests(graph)...)
	slices.Sort(found)
	return found
}

func checkKernel(graph Graph) []string {
	var found []string
	for path, p := range ours(graph) {
		if !slices.ContainsFunc(kernel, func(root string) bool { return under(path, root) }) || testOnly(path) {
			continue
		}
		for _, dependency := range p.Deps {
			target, isOurs := relative(dependency)
			outside := isOurs && slices.ContainsFunc([]string{"abi", "host", "plugins", "cmd", "client"}, func(root string) bool {
				return under(target, root)
			})
			if outside {
				found = append(found, fmt.Sprintf("%s depends on %s; the kernel must not know the contract, the host, the clients or the plugins", path, target))
			}
			if reason, ok := foreignToKernel(dependency); ok {
				found = append(found, fmt.Sprintf("%s depends on %s; the kernel uses no %s library", path, dependency, reason))
			}
		}
	}
	return found
}

func checkSeals(graph Graph) []string {
	var found []string
	for path, p := range ours(graph) {
		if testOnly(path) {
			continue
		}
		for _, imported := range p.Imports {
			target, isOurs := relative(imported)
			if !isOurs {
				continue
			}
			for _, seal := range Seals() {
				if !under(target, seal.Package) || slices.ContainsFunc(seal.Importers, func(root string) bool { return under(path, root) }) {
					continue
				}
				found = append(found, fmt.Sprintf("%s imports %s, which only %s may import: %s", path, target, strings.Join(seal.Importers, ", "), seal.Reason))
			}
		}
	}
	return found
}

func checkLeaves(graph Graph) []string {
	var found []string
	for _, leaf := range Leaves() {
		p, ok := graph[Module+"/"+leaf.Package]
		if !ok {
			continue // CheckNames reports it
		}
		for _, imported := range p.Imports {
			target, isOurs := relative(imported)
			if isOurs && under(target, leaf.Package) {
				continue
			}
			foreign := graph[imported] == nil || !graph[imported].Standard
			if isOurs || leaf.Standard && foreign {
				found = append(found, fmt.Sprintf("%s imports %s, but must stand alone: %s", leaf.Package, imported, leaf.Reason))
			}
		}
	}
	return found
}

// checkGuests holds plugins and the SDK to the contract and each other.
func checkGuests(graph Graph) []string {
	var found []string
	for path, p := range ours(graph) {
		if !guest(path) {
			continue
		}
		for _, imported := range p.Imports {
			target, isOurs := relative(imported)
			if isOurs && !guest(target) && !under(target, "abi") {
				found = append(found, fmt.Sprintf("the guest %s imports %s; a guest knows the host by abi/v1 alone", path, target))
			}
		}
	}
	return found
}

// CheckTestPackages reports every package that serves tests and is built into
// something that does not.
func CheckTestPackages(graph Graph) []string {
	var found []string
	for path, p := range ours(graph) {
		if testOnly(path) {
			continue
		}
		for _, imported := range p.Imports {
			if target, isOurs := relative(imported); isOurs && testOnly(target) {
				found = append(found, fmt.Sprintf("%s imports %s outside its tests; move what it needs into a package of its own", path, target))
			}
		}
	}
	slices.Sort(found)
	return found
}
