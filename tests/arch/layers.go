package arch

// A Layer is a line of the table. Packages on one line do not import each other.
type Layer struct {
	Name     string
	Packages []string
}

// Layers is the table, top line first. Every package of the main module stands
// in it once, except those that serve tests. A package imports from lower lines
// only.
func Layers() []Layer {
	return []Layer{
		{"examples", []string{"docs/examples/follow"}},
		{"wiring", []string{"cmd/host"}},
		{"configuration", []string{"cmd/host/config"}},
		{"live development", []string{"host/author/dev"}},
		{"records", []string{"host/author/record"}},
		{"author", []string{"host/author/call", "host/author/toolchain"}},
		{"goldens", []string{"host/author/golden"}},
		{"builds", []string{"host/author/build", "host/author/scaffold"}},
		{"edge", []string{"host/server", "host/plugin", "client"}},
		{"list of plugins", []string{"host/plugin/lock"}},
		{"project files", []string{"host/project"}},
		{"translate", []string{"host/bridge", "host/expand"}},
		{"recordings", []string{"host/replay"}},
		{"second engine", []string{"host/extism"}},
		{"servers of tools", []string{"host/mcp"}},
		{"services", []string{"host/builtin", "host/catalog", "host/depot", "host/egress", "host/filetype", "host/fsys", "host/legacy", "host/offline", "host/outputs", "host/probation", "host/process", "host/share", "host/shell", "host/skill", "host/snapshot", "host/wasm", "host/watch", "plugins/builtin"}},
		{"trust", []string{"host/trust"}},
		{"front matter", []string{"host/markdown"}},
		{"search parts", []string{"host/fsys/ignore", "host/fsys/search"}},
		{"guest memory", []string{"host/wasm/memory"}},
		{"engine parts", []string{"host/wasm/meter"}},
		{"binary format", []string{"host/wasm/binary"}},
		{"secrets", []string{"host/secret"}},
		{"run", []string{"session/runner"}},
		{"window", []string{"session/compaction", "session/epoch"}},
		{"audit", []string{"session/audit"}},
		{"carry", []string{"session/bundle"}},
		{"read", []string{"session/view"}},
		{"domain", []string{"session"}},
		{"drivers", []string{"store/sqlite"}},
		{"disk", []string{"store/sqllog"}},
		{"leaves", []string{"store", "registry", "session/schema"}},
		{"packing", []string{"abi/pack"}},
		{"contract", []string{"abi/v1", "client/protocol"}},
	}
}

// kernel is what must not know that plugins are Wasm or that clients exist.
var kernel = []string{"store", "registry", "session"}

// A Seal closes a package or a folder against all but a few importers.
type Seal struct {
	Package   string // with all below it
	Importers []string
	Reason    string
}

// Seals is what the order of the layers cannot say.
func Seals() []Seal {
	return []Seal{
		{
			"abi", []string{"abi", "host/bridge", "host/plugin", "host/trust", "host/author", "plugins", "sdk-plugins", "cmd/host"},
			"host/bridge alone translates between the contract and the kernel; host/plugin reads manifests, and host/trust compares them",
		},
		{
			"client", []string{"client", "host/server", "cmd/host"},
			"clients and their wire types stay at the edge",
		},
		{"session/view", []string{"session/view", "cmd/host"}, "views can be dropped, so nothing but the wiring knows them"},
		{"cmd", []string{"cmd"}, "the wiring knows everything, so nothing may know the wiring"},
		{"plugins/builtin", []string{"cmd/host"}, "the host treats its builtin plugins like any other"},
	}
}

// A Leaf imports nothing of ours but what lies in its own folder and, where it says
// so, nothing but the standard library.
type Leaf struct {
	Package  string
	Standard bool
	Reason   string
}

// Leaves lists the packages that must stay usable alone.
func Leaves() []Leaf {
	return []Leaf{
		{"abi/v1", true, "guests of every toolchain compile it"},
		{"client/protocol", true, "other clients take it as it is"},
		{"registry", true, "it is a leaf of the kernel"},
		{"store", false, "the contract of the log depends on no user of the log"},
		{"session/schema", false, "the kernel and the bridge hold JSON to schemas in the same words"},
		{"docs/examples/follow", false, "it shows that the documented frames are all a client needs"},
		{"host/wasm", false, "the engine takes bytes and names, so it can be replaced"},
		{"host/wasm/binary", true, "it reads what strangers send, and is small enough to be read whole"},
	}
}
