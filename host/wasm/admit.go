package wasm

import (
	"fmt"
	"maps"
	"strings"
)

const (
	exportMemory     = "memory"
	exportInitialize = "_initialize" // of a reactor, run at the start of an instance

	// What Extism hosts run at the start besides _initialize, and instead of it.
	exportHaskell      = "hs_init"
	exportConstructors = "__wasm_call_ctors"

	typeNothing = "()->()"
	typeEntry   = "(i32,i32)->(i64)"
	typeAlloc   = "(i32)->(i32)"
	typeFree    = "(i32,i32)->()"
	typeCall    = "(i32,i32,i32,i32)->(i32)"
	typeRead    = "(i32)->()"
)

// Admissible holds what Inspect found in a module against its spec as Load does, without
// compiling or running it. The error is an *AdmissionError.
func Admissible(info Info, contract Contract, spec Spec) error {
	if err := admit(info, contract, spec.withDefaults()); err != nil {
		return named(err, spec.Name)
	}
	return nil
}

// admit holds a module against its spec.
func admit(info Info, contract Contract, spec Spec) error {
	switch spec.Isolation {
	case Restore, Fresh, Sticky:
	default:
		return &AdmissionError{Stage: StageLimits, Offset: -1, Reason: fmt.Sprintf("there is no isolation %q", spec.Isolation), Fix: "take restore, fresh or sticky"}
	}
	if err := checkLimits(info, spec.Limits); err != nil {
		return err
	}
	if err := checkOrigin(info); err != nil {
		return err
	}
	if err := checkSet(info, contract); err != nil {
		return err
	}
	if err := checkExports(info, contract, spec); err != nil {
		return err
	}
	return checkImports(info, contract, spec.Pure)
}

func checkLimits(info Info, limits Limits) error {
	if info.Memory.Min <= limits.pages() {
		return nil
	}
	return &AdmissionError{
		Stage: StageLimits, Offset: -1,
		Reason: fmt.Sprintf("it starts with %d KiB of memory, the limit is %d KiB", info.Memory.Min*64, limits.MemoryMiB*1024),
		Fix:    raise("MemoryMiB") + ", or let it start smaller",
	}
}

// checkSet refuses a module that is written for both sets of imports: its entries
// can be of one shape only.
func checkSet(info Info, contract Contract) error {
	if !isExtism(info) {
		return nil
	}
	for _, entry := range info.Imports {
		if entry.Module == contract.Module {
			return &AdmissionError{
				Stage: StageImports, Offset: entry.Offset,
				Reason: fmt.Sprintf("it imports %s.%.64s and also functions of %s", entry.Module, entry.Name, extismEnv),
				Fix:    fmt.Sprintf("build it with a Plinth SDK or with an Extism PDK, not with both: an Extism module's operation is %s.%s", extismUser, contract.Call),
			}
		}
	}
	return nil
}

// required answers the functions that a module must export, with their types.
func required(info Info, contract Contract, spec Spec) (names []string, types map[string]string) {
	types = make(map[string]string)
	kind := typeExtismEntry
	if !isExtism(info) {
		kind = typeEntry
		names, types[contract.Alloc] = append(names, contract.Alloc), typeAlloc
	}
	for _, entry := range spec.Entries {
		names, types[entry] = append(names, entry), kind
	}
	return names, types
}

func checkExports(info Info, contract Contract, spec Spec) error {
	if _, program := info.Export("_start"); program {
		return missingExport("a library's entries; it exports _start, so it is a program",
			"build it as a reactor: -buildmode=c-shared (Go, TinyGo), crate-type cdylib (Rust)")
	}
	if memory, ok := info.Export(exportMemory); !ok || memory.Kind != KindMemory {
		return missingExport("the memory as "+exportMemory,
			"linkers do so by themselves: take --import-memory, --no-export-memory and the like out of their flags")
	}
	marker, ok := info.Export(contract.Marker)
	if !ok || marker.Kind != KindFunction && (marker.Kind != KindGlobal || !isExtism(info)) {
		return missingExport("the marker function "+contract.Marker,
			"build it with a current SDK; this host speaks the ABI that marker names")
	}
	names, types := required(info, contract, spec)
	missing := maps.Clone(types)
	for _, export := range info.Exports {
		delete(missing, export.Name)
		want := types[export.Name]
		if want == "" {
			want = optionalType(export.Name, contract, isExtism(info))
		}
		if want == "" || export.Type == want {
			continue
		}
		return missingExport(fmt.Sprintf("%s as a function of type %s; it exports a %s of type %q",
			export.Name, want, export.Kind, export.Type), "build it with a current SDK")
	}
	for _, name := range names {
		if want, lacking := missing[name]; lacking {
			fix := "link its kind in, which exports it, or take the table that declares it out of the manifest"
			if name == contract.Alloc {
				fix = "an SDK exports it: link one in, or export it yourself"
			}
			return missingExport(fmt.Sprintf("%s, a function of type %s", name, want), fix)
		}
	}
	return nil
}

// optionalType is what an export of that name must be when there is one, "" for
// any.
func optionalType(name string, contract Contract, extism bool) string {
	switch name {
	case contract.Init:
		if extism {
			return typeExtismEntry
		}
		return typeEntry
	case exportInitialize, contract.Reseed:
		return typeNothing
	}
	switch {
	case !extism && name == contract.Free, extism && name == exportHaskell:
		return typeFree
	case extism && name == exportConstructors:
		return typeNothing
	}
	return ""
}

func missingExport(what, fix string) error {
	return &AdmissionError{Stage: StageExports, Offset: -1, Reason: "it must export " + what, Fix: fix}
}

// maxNamed bounds how many refused imports an error lists.
const maxNamed = 8

// checkImports refuses what is not served, all of it in one error.
func checkImports(info Info, contract Contract, pure bool) error {
	var refused []string
	var first Import
	fix := ""
	for _, entry := range info.Imports {
		reason, hint := refuseImport(entry, contract, pure)
		if reason == "" {
			continue
		}
		if len(refused) == 0 {
			first, fix = entry, hint
		}
		refused = append(refused, fmt.Sprintf("%.64s.%.64s %s", entry.Module, entry.Name, reason))
	}
	if len(refused) == 0 {
		return nil
	}
	if more := len(refused) - maxNamed; more > 0 {
		refused = append(refused[:maxNamed], fmt.Sprintf("%d more", more))
	}
	return &AdmissionError{
		Stage: StageImports, Offset: first.Offset,
		Reason: "it imports " + strings.Join(refused, "; "), Fix: fix,
	}
}

// refuseImport answers why an import is not served, "" when it is.
func refuseImport(entry Import, contract Contract, pure bool) (reason, fix string) {
	want := ""
	switch entry.Module {
	case contract.Module:
		want = map[string]string{contract.Call: typeCall, contract.Read: typeRead}[entry.Name]
		if want != "" && pure {
			return refusePure()
		}
	case wasiModule:
		function, ok := wasiFunctionNamed(entry.Name)
		if ok {
			want = function.kind
		}
	case extismUser:
		want = map[string]string{contract.Call: typeExtismCall}[entry.Name]
		if want != "" && pure {
			return refusePure()
		}
	case extismEnv:
		function, ok := extismFunctionNamed(entry.Name)
		if ok && function.world && pure {
			return refusePure()
		}
		want = function.kind
	case "env":
		return "(nobody provides env)", fixEnv(entry.Name)
	}
	if want == "" {
		return "(not served)", fmt.Sprintf("only %s.%s, %s.%s, %s, %s and %s.%s are served",
			contract.Module, contract.Call, contract.Module, contract.Read, wasiModule, extismEnv, extismUser, contract.Call)
	}
	if want != entry.Type {
		return fmt.Sprintf("(as %s, it is %s)", entry.Type, want), "build it with a current SDK"
	}
	return "", ""
}

func refusePure() (reason, fix string) {
	return "(a host operation, which providers and transforms may not use)",
		"take the operations out: what such a plugin needs comes with its input"
}
