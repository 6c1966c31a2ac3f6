package registry

import (
	"errors"
	"fmt"
)

var (
	// ErrNoID: the scope has no ID.
	ErrNoID = errors.New("a scope needs an id")
	// ErrBuiltinLocation: the scope is builtin and belongs to a Location.
	ErrBuiltinLocation = errors.New("a builtin scope must be global")
)

// UnknownKindError is a contribution to a kind that the registries were not
// made with.
type UnknownKindError struct {
	Kind  string
	Name  string
	Scope string
}

func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("scope %q contributes %q to the unknown kind %q", e.Scope, e.Name, e.Kind)
}

// NameError is a name that the check of its kind refuses. Unwrap gives what the
// check answered.
type NameError struct {
	Kind  string
	Name  string
	Scope string
	Err   error
}

func (e *NameError) Error() string {
	return fmt.Sprintf("scope %q cannot contribute the %s %q: %v", e.Scope, e.Kind, e.Name, e.Err)
}

func (e *NameError) Unwrap() error { return e.Err }

// DuplicateError is a name that two contributions of one kind claim on the same
// level. Holder is the scope that has the name already; it equals Scope when
// one scope contributes the name twice.
type DuplicateError struct {
	Kind     string
	Name     string
	Scope    string
	Location string
	Holder   string
}

func (e *DuplicateError) Error() string {
	if e.Holder == e.Scope {
		return fmt.Sprintf("scope %q contributes the %s %q twice", e.Scope, e.Kind, e.Name)
	}
	return fmt.Sprintf("scope %q cannot contribute the %s %q: scope %q has that name; rename one or remove the other",
		e.Scope, e.Kind, e.Name, e.Holder)
}

// DuplicateKeyError is a key that the values of two names answer for. Scope contributes
// Name; Holder has HolderName, and equals Scope when both are in one scope.
type DuplicateKeyError struct {
	Kind       string
	Key        string
	Name       string
	Scope      string
	HolderName string
	Holder     string
}

func (e *DuplicateKeyError) Error() string {
	return fmt.Sprintf("the %s %q of scope %q answers for the key %q, as %q of scope %q does; rename the key in one or remove the other",
		e.Kind, e.Name, e.Scope, e.Key, e.HolderName, e.Holder)
}

// ReservedError is a name that the builtin scope Holder reserves and that the
// scope at Location (empty: global) claims, whichever of the two came first.
type ReservedError struct {
	Kind     string
	Name     string
	Scope    string
	Location string
	Holder   string
}

func (e *ReservedError) Error() string {
	level := "global scope"
	if e.Location != "" {
		level = fmt.Sprintf("Location %q: scope", e.Location)
	}
	return fmt.Sprintf("%s %q cannot have the %s %q: the name is reserved for the builtin scope %q; rename it",
		level, e.Scope, e.Kind, e.Name, e.Holder)
}
