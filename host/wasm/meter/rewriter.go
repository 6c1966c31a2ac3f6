package meter

import (
	"slices"
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/host/wasm/binary"
)

// rewriter makes one module.
type rewriter struct {
	options  Options
	in       *binary.Module
	out      *binary.Module // a copy of in that shares what does not change
	report   Report
	imported uint32  // functions the original imports; the yield has this number
	counter  uint32  // number of the global
	exempt   []int64 // see findExempt
	helpers  helpers
	surveyor surveyor
	list     []binary.Instr // of the body that is looked at
}

func newRewriter(module *binary.Module, options Options) *rewriter {
	out := *module
	r := &rewriter{
		options: options, in: module, out: &out,
		imported: uint32(module.Imported(binary.KindFunction)), counter: uint32(module.GlobalCount()),
	}
	r.surveyor.cost, r.surveyor.every = r.cost, yieldSteps
	r.report.Functions = len(module.Functions)
	r.report.Unrestorable = module.Unrestorable()
	return r
}

// function is the number of an original function in the rewritten module:
// imported functions come first, so the yield moves all others.
func (r *rewriter) function(original uint32) uint32 {
	if original < r.imported {
		return original
	}
	return original + 1
}

// functionType is the number of a type, appended when the module lacks it:
// block types name those it has by number.
func (r *rewriter) functionType(params int) uint32 {
	same := func(t binary.FuncType) bool {
		return len(t.Results) == 0 && len(t.Params) == params &&
			!slices.ContainsFunc(t.Params, func(p binary.ValueType) bool { return p != binary.I32 })
	}
	if i := slices.IndexFunc(r.out.Types, same); i >= 0 {
		return uint32(i)
	}
	var t binary.FuncType
	for range params {
		t.Params = append(t.Params, binary.I32)
	}
	r.out.Types = append(slices.Clip(r.out.Types), t)
	return uint32(len(r.out.Types) - 1)
}

// boundary renews imports, globals, exports and the start function.
func (r *rewriter) boundary() {
	r.out.AddImport(binary.Import{
		Module: Module, Name: Yield, Kind: binary.KindFunction, Type: r.functionType(0),
	})
	r.out.Globals = slices.Clone(r.in.Globals)
	for i := range r.out.Globals {
		r.shiftConst(&r.out.Globals[i].Init)
	}
	r.out.Exports = slices.Clone(r.in.Exports)
	for i := range r.out.Exports {
		if export := &r.out.Exports[i]; export.Kind == binary.KindFunction {
			export.Index = r.function(export.Index)
		}
	}
	r.exportGlobals()
	r.out.Globals = append(r.out.Globals, binary.Global{
		GlobalType: binary.GlobalType{Type: binary.I64, Mutable: true},
		Init:       binary.Const{Op: binary.OpI64Const},
	})
	r.export(Counter, binary.KindGlobal, r.counter)
	if r.in.Start != nil {
		r.export(Start, binary.KindFunction, r.function(*r.in.Start))
		r.out.Start = nil
		r.report.Start = true
	}
}

func (r *rewriter) exportGlobals() {
	for i, defined := range r.in.Globals {
		if !defined.Mutable {
			continue
		}
		index := r.in.Imported(binary.KindGlobal) + i
		name := globals + strconv.Itoa(index)
		r.export(name, binary.KindGlobal, uint32(index))
		r.report.Globals = append(r.report.Globals, Global{Name: name, Type: defined.Type})
	}
}

func (r *rewriter) export(name string, kind binary.Kind, index uint32) {
	r.out.Exports = append(r.out.Exports, binary.Export{Name: name, Kind: kind, Index: index})
}

func (r *rewriter) shiftConst(c *binary.Const) {
	if c.Op == binary.OpRefFunc {
		c.Value = uint64(r.function(uint32(c.Value)))
	}
}

// segments renews the element segments.
func (r *rewriter) segments() {
	r.out.Elements = slices.Clone(r.in.Elements)
	for i := range r.out.Elements {
		e := &r.out.Elements[i]
		e.Entries = slices.Clone(e.Entries)
		for j := range e.Entries {
			if e.Entries[j].Op == binary.OpRefFunc {
				e.Entries[j].Index = r.function(e.Entries[j].Index)
			}
		}
	}
}

// data takes out the active data segments when that is asked for. Code that
// names segments by number still finds as many, empty ones: that is what an
// active segment is once the module is instantiated.
func (r *rewriter) data() error {
	if !r.options.StripData {
		return nil
	}
	numbered := r.in.Facts.MemoryInit || r.in.Facts.DataDrop
	r.out.Data = nil
	for _, segment := range r.in.Data {
		if segment.Mode != binary.Active {
			r.out.Data = append(r.out.Data, segment)
			continue
		}
		if segment.Offset.Op != binary.OpI32Const {
			return &Error{
				Reason: "the offset of a data segment is an imported global, which is not known yet",
				Fix:    "build the module as an executable, not as a library to be relocated",
			}
		}
		r.report.Data = append(r.report.Data, Segment{Offset: uint32(segment.Offset.Value), Bytes: segment.Bytes})
		if numbered {
			r.out.Data = append(r.out.Data, binary.Data{Mode: binary.Passive})
		}
	}
	return nil
}

// customs drops what describes code by its place in the file, and renumbers the
// names.
func (r *rewriter) customs() {
	r.out.Customs = slices.DeleteFunc(slices.Clone(r.in.Customs), func(c binary.Custom) bool {
		return describesPlaces(c.Name)
	})
	if r.in.Names == nil {
		return
	}
	names := &binary.Names{Module: r.in.Names.Module}
	own := r.imported
	for _, name := range r.in.Names.Functions {
		if name.Index >= own {
			own = ^uint32(0)
			names.Functions = append(names.Functions, binary.Name{Index: r.imported, Name: Prefix + Yield})
		}
		names.Functions = append(names.Functions, binary.Name{Index: r.function(name.Index), Name: name.Name})
	}
	if own == r.imported {
		names.Functions = append(names.Functions, binary.Name{Index: r.imported, Name: Prefix + Yield})
	}
	first := r.helperIndex(0)
	for i, name := range r.helpers.names {
		names.Functions = append(names.Functions, binary.Name{Index: first + uint32(i), Name: Prefix + name})
	}
	r.out.Names = names
}

func describesPlaces(section string) bool {
	switch section {
	case "linking", "sourceMappingURL", "external_debug_info":
		return true
	}
	for _, prefix := range []string{".debug_", "reloc.", "metadata.code."} {
		if strings.HasPrefix(section, prefix) {
			return true
		}
	}
	return false
}
