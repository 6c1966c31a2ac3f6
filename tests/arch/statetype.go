package arch

import (
	"go/types"
	"slices"
)

// opaque are the types, behind a pointer, whose values never change once made.
var opaque = []string{
	"regexp.Regexp",
	"text/template.Template",
	"math/big.Int",
	Module + "/registry.Kind",
}

// immutable are the types whose values never change, whatever they consist of.
var immutable = []string{"embed.FS", "time.Time"}

// stateful are the packages whose types exist to be changed.
var stateful = []string{"sync", "sync/atomic", "context"}

// stateIn says why a variable that nothing writes may still change, or nothing.
func stateIn(v *types.Var) string {
	if isError(v.Type()) {
		return ""
	}
	return stateInType(v.Type(), v.Exported(), map[types.Type]bool{})
}

func stateInType(t types.Type, exported bool, seen map[types.Type]bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	if named, ok := types.Unalias(t).(*types.Named); ok {
		name := typeName(named)
		switch from := named.Obj().Pkg(); {
		case slices.Contains(immutable, name):
			return ""
		case from != nil && slices.Contains(stateful, from.Path()):
			return "holds state (" + name + "); make it a field"
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return ""
	case *types.Chan:
		return "holds a channel; make it a field"
	case *types.Signature:
		return "holds a function that could be exchanged; declare a function or a field"
	case *types.Interface:
		return "holds an interface that could be exchanged; make it a field"
	case *types.Pointer:
		if named, ok := types.Unalias(u.Elem()).(*types.Named); ok && slices.Contains(opaque, typeName(named)) {
			return ""
		}
		return "points to something that can be written; make it a field"
	case *types.Map:
		if exported {
			return "is a map that every importer can write; make it a function"
		}
		return stateInElement(u.Elem(), seen)
	case *types.Slice:
		if exported {
			return "is a slice that every importer can write; make it a function"
		}
		return stateInElement(u.Elem(), seen)
	case *types.Array:
		return stateInElement(u.Elem(), seen)
	case *types.Struct:
		for field := range u.Fields() {
			if reason := stateInType(field.Type(), exported && field.Exported(), seen); reason != "" {
				return reason
			}
		}
		return ""
	default:
		return "has a type that the check does not know: " + t.String()
	}
}

// stateInElement is stateInType for what a table holds. Functions and
// interfaces are fine there: the table is written where it is declared.
func stateInElement(t types.Type, seen map[types.Type]bool) string {
	switch t.Underlying().(type) {
	case *types.Signature, *types.Interface:
		return ""
	default:
		return stateInType(t, false, seen)
	}
}

func typeName(named *types.Named) string {
	if named.Obj().Pkg() == nil {
		return named.Obj().Name()
	}
	return named.Obj().Pkg().Path() + "." + named.Obj().Name()
}

func isError(t types.Type) bool {
	return types.Identical(t, types.Universe.Lookup("error").Type())
}
