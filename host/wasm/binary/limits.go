package binary

// Limits bound what a module may be made of. A module beyond one is refused with
// an Error that names the field. Zero is a limit of none, not the absence of one;
// begin with DefaultLimits.
type Limits struct {
	ModuleBytes    int // the whole module
	CustomSections int
	NameBytes      int // of each import, export, custom section or function name
	Types          int
	Params         int // of each type
	Results        int // of each type
	Imports        int
	Exports        int
	Functions      int // imported and defined
	Tables         int
	TableEntries   int // least size of each table; most size of a table that grows
	MemoryPages    int // least size of the memory, in pages of 64 KiB
	Globals        int // imported and defined
	Elements       int // element segments
	ElementEntries int // in all element segments together
	DataSegments   int
	BodyBytes      int // of each function
	Locals         int // of each function, parameters not counted
	LocalGroups    int // of locals of one type, in all functions together
	Nesting        int // blocks open at once in a function, its own included
	Targets        int // labels of each br_table
	TargetsTotal   int // labels of all br_table together

	// UnboundedTables admits table.grow of a table that declares no most size
	// within TableEntries.
	UnboundedTables bool
}

// DefaultLimits are far above what compilers emit for a plugin, and low enough
// for decoding, rewriting and compiling to stay within a second and tens of MiB.
func DefaultLimits() Limits {
	return Limits{
		ModuleBytes:    16 << 20,
		CustomSections: 1_000,
		NameBytes:      64 << 10,
		Types:          10_000,
		Params:         1_000,
		Results:        1_000,
		Imports:        1_000,
		Exports:        10_000,
		Functions:      100_000,
		Tables:         16,
		TableEntries:   10_000,
		MemoryPages:    2_048,
		Globals:        10_000,
		Elements:       10_000,
		ElementEntries: 100_000,
		DataSegments:   200_000,
		BodyBytes:      1 << 20,
		Locals:         1_024,
		LocalGroups:    1_000_000,
		Nesting:        10_000,
		Targets:        20_000,
		TargetsTotal:   1_000_000,
	}
}
