package wasm

import (
	"fmt"
	"strings"
)

const (
	exportMemory     = "memory"
	exportInitialize = "_initialize" // of a reactor, run at the start of an instance

	typeNothing = "()->()"
	typeEntry   = "(i32,i32)->(i64)"
	typeAlloc   = "(i32)->(i32)"
	typeFree    = "(i32,i32)->()"
	typeCall    = "(i32,i32,i32,i32)->(i32)"
	typeRead    = "(i32)->()"
)

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
		Fix:    "raise memory_mib of [limits] in its manifest, or let it start smaller",
	}
}

func checkExports(info Info, contract Contract, spec Spec) error {
	if memory, ok := info.Export(exportMemory); !ok || memory.Kind != KindMemory {
		return missingExport("the memory as "+exportMemory, "")
	}
	marker, ok := info.Export(contract.Marker)
	if !ok || marker.Kind != KindFunction {
		return missingExport("the marker function "+contract.Marker,
			"build it with a current SDK; this host speaks the ABI that marker names")
	}
	required := map[string]string{contract.Alloc: typeAlloc}
	for _, entry := range spec.Entries {
		required[entry] = typeEntry
	}
	for _, export := range info.Exports {
		want := required[export.Name]
		delete(required, export.Name)
		switch export.Name {
		case contract.Free:
			want = typeFree
		case contract.Init:
			want = typeEntry
		case exportInitialize, contract.Reseed:
			want = typeNothing
		case "_start":
			return missingExport("a library's entries; it exports _start, so it is a program",
				"build it as a reactor: -buildmode=c-shared (Go, TinyGo), crate-type cdylib (Rust)")
		}
		if want == "" || export.Type == want {
			continue
		}
		return missingExport(fmt.Sprintf("%s as a function of type %s; it exports a %s of type %q",
			export.Name, want, export.Kind, export.Type), "build it with a current SDK")
	}
	for _, name := range append([]string{contract.Alloc}, spec.Entries...) {
		if want, missing := required[name]; missing {
			return missingExport(fmt.Sprintf("%s, a function of type %s", name, want), "export it, or take it out of the manifest")
		}
	}
	return nil
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
			return "(a host operation, which providers and transforms may not use)",
				"take the operations out: what such a plugin needs comes with its input"
		}
	case wasiModule:
		function, ok := wasiFunctionNamed(entry.Name)
		if ok {
			want = function.kind
		}
	case "env":
		return "(nobody provides env)", "link the missing symbol in, and build for wasip1"
	case "extism:host/env":
		return "(Extism modules are not run by this engine)", "build it with a Plinth SDK"
	}
	if want == "" {
		return "(not served)", fmt.Sprintf("only %s.%s, %s.%s and %s are served",
			contract.Module, contract.Call, contract.Module, contract.Read, wasiModule)
	}
	if want != entry.Type {
		return fmt.Sprintf("(as %s, it is %s)", entry.Type, want), "build it with a current SDK"
	}
	return "", ""
}
