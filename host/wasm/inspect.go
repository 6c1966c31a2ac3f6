package wasm

import "github.com/plinthhost/plinth/host/wasm/binary"

// Limits of a module. Custom sections do not run, so a file may have more of them.
const (
	MaxModuleBytes = 16 << 20 // without its custom sections
	MaxFileBytes   = 24 << 20
)

// Kinds of an import or export.
const (
	KindFunction = "function"
	KindTable    = "table"
	KindMemory   = "memory"
	KindGlobal   = "global"
)

// Info is what a module says of itself, read without running it.
type Info struct {
	Digest    string // SHA-256 of the bytes, in hexadecimal
	Size      int    // bytes
	Imports   []Import
	Exports   []Export
	Custom    []Custom
	Memory    Memory
	Functions int  // defined ones
	Start     bool // has a start function
}

// Import is one import. Type is set for functions, like "(i32,i32)->(i64)".
type Import struct {
	Module, Name, Kind, Type string
	Offset                   int
}

// Export is one export. Type is set for functions.
type Export struct {
	Name, Kind, Type string
}

// Custom is a custom section. Data aliases the module.
type Custom struct {
	Name string
	Data []byte `json:"-"`
}

// Memory is the one memory's declaration, in pages of 64 KiB. Max is 0 when none
// is declared.
type Memory struct {
	Min, Max uint32
}

// Export answers the export of that name.
func (i Info) Export(name string) (Export, bool) {
	for _, export := range i.Exports {
		if export.Name == name {
			return export, true
		}
	}
	return Export{}, false
}

// Inspect reads a module strictly and completely, without compiling or running it.
// The error is an *AdmissionError of stage parse.
func Inspect(wasm []byte) (Info, error) {
	if err := checkSize(wasm); err != nil {
		return Info{}, err
	}
	module, err := binary.Decode(wasm, formLimits())
	if err != nil {
		return Info{}, refusal(err)
	}
	info := infoOf(module, len(wasm))
	info.Digest = digestOf(wasm)
	return info, nil
}

func infoOf(module *binary.Module, size int) Info {
	info := Info{Size: size, Functions: len(module.Functions), Start: module.Start != nil}
	for _, entry := range module.Imports {
		described := Import{Module: entry.Module, Name: entry.Name, Kind: entry.Kind.String(), Offset: entry.Offset}
		if entry.Kind == binary.KindFunction {
			described.Type = module.Types[entry.Type].String()
		}
		info.Imports = append(info.Imports, described)
	}
	for _, export := range module.Exports {
		described := Export{Name: export.Name, Kind: export.Kind.String()}
		if export.Kind == binary.KindFunction {
			described.Type = module.FunctionType(export.Index).String()
		}
		info.Exports = append(info.Exports, described)
	}
	for _, custom := range module.Customs {
		info.Custom = append(info.Custom, Custom{Name: custom.Name, Data: custom.Data})
	}
	if memory, ok := module.Memory(); ok {
		info.Memory = Memory{Min: memory.Min, Max: memory.Max}
	}
	return info
}
