package registry

// Kind is one registry: the values of type T that carry a name in it. Its
// identity is the pointer, so a package that consumes a kind declares it once
// and shares it.
type Kind[T any] struct {
	name  string
	names func(name string) error // nil: every name
	keys  func(value T) []string  // nil: none
	check func(key string) error  // nil: every key
}

// NewKind declares a kind. The name appears in errors, so it is the singular a
// reader knows: "tool", "provider".
func NewKind[T any](name string) *Kind[T] {
	return &Kind[T]{name: name}
}

// NewNamedKind declares a kind whose names must pass a check. The check answers
// what is wrong with a name, as words that can follow it, and nil for a good one.
func NewNamedKind[T any](name string, check func(name string) error) *Kind[T] {
	return &Kind[T]{name: name, names: check}
}

// NewKeyedKind declares a kind whose values answer for keys: no two of different names
// that one pin can show have a key in common. The check of a key is like that of a name,
// and may be nil.
func NewKeyedKind[T any](name string, keys func(value T) []string, check func(key string) error) *Kind[T] {
	return &Kind[T]{name: name, keys: keys, check: check}
}

// Name is the name the kind was declared with.
func (k *Kind[T]) Name() string { return k.name }

// Contribute makes a contribution for a scope. Entries are listed by order,
// then by name. Opening the scope holds the name to the kind's check.
func (k *Kind[T]) Contribute(name string, order int, value T) Contribution {
	made := Contribution{kind: k, name: name, order: order, value: value}
	if k.keys != nil {
		made.keys = k.keys(value)
	}
	return made
}

func (k *Kind[T]) checkName(name string) error {
	if k.names == nil {
		return nil
	}
	return k.names(name)
}

func (k *Kind[T]) checkKey(key string) error {
	if k.check == nil {
		return nil
	}
	return k.check(key)
}

// AnyKind is a *Kind[T] of any T; nothing else implements it.
type AnyKind interface {
	Name() string
	checkName(name string) error
	checkKey(key string) error
}

// Contribution is one named value for one kind. Kind.Contribute makes it.
type Contribution struct {
	kind  AnyKind
	name  string
	order int
	value any
	keys  []string
}

// Kind is the name of the contribution's kind, empty for the zero value.
func (c Contribution) Kind() string {
	if c.kind == nil {
		return ""
	}
	return c.kind.Name()
}

// Name is the name the value is to have.
func (c Contribution) Name() string { return c.name }

// Scope is a set of contributions that comes and goes as one, such as all that
// one plugin revision offers.
type Scope struct {
	// ID and Location together name the scope. ID must not be empty; an empty
	// Location is the global level.
	ID       string
	Location string
	// Builtin reserves the scope's names on every level. Only a global scope
	// can be builtin.
	Builtin bool
	// Revision says which version of the scope's owner contributes, such as a
	// digest. The registry only hands it on.
	Revision      string
	Contributions []Contribution
}

// ScopeInfo names a scope and the revision of it that a pin holds.
type ScopeInfo struct {
	ID       string
	Location string
	Revision string
}
