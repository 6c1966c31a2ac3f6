package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Mode says whether commands with a Project run in the sandbox.
type Mode string

// The modes. The zero value is ModeOff.
const (
	ModeOff  Mode = "off"
	ModeAuto Mode = "auto" // where the system has one
	ModeOn   Mode = "on"   // and nothing runs where it has none
)

// The kinds of sandbox that a command ran in.
const (
	SandboxLandlock = "landlock"
	SandboxNone     = "none"
)

// Sandbox bounds the commands with a Project: they read what the host's user reads
// and write nowhere but below the project, its git folder, Write, and the devices
// that every program writes to. What they start is bound in the same way, for good.
type Sandbox struct {
	Mode Mode
	// Write are absolute paths of folders and files. One that is not there when a
	// command starts is left out. Links in them are followed once, by New.
	Write []string
	// Make are folders of Write that are made before the first such command. One that
	// cannot be made is left out.
	Make []string
	// NoNetwork refuses TCP connections and listeners to the same commands.
	NoNetwork bool
}

// Confinement is what the sandbox is here, or was for a command.
type Confinement struct {
	// Kind is SandboxLandlock or SandboxNone.
	Kind string
	// Reason is why there is none, or what of it the system does not hold; else "".
	Reason string
	// Refuses is set when commands with a Project are not run for that reason.
	Refuses bool
	// NoNetwork is set when TCP is refused to them.
	NoNetwork bool
}

// devices are what programs write to beside files. Those of terminals belong to who
// has opened them.
var devices = [...]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts"}

// offer is what the system has: the version of Landlock, or 0 and why.
type offer struct {
	version int
	reason  string
}

const (
	// firstVersion also keeps a command from emptying files, by truncate(2).
	firstVersion = 3
	// networkVersion knows of TCP.
	networkVersion = 4
)

// sandbox is a Sandbox as far as this system has it.
type sandbox struct {
	Confinement
	write   []string
	prepare func() // once
}

// newSandbox checks the options. Errors are of type *Error.
func newSandbox(s Sandbox, ask func() offer) (sandbox, error) {
	switch s.Mode {
	case "", ModeOff:
		if s.NoNetwork {
			return sandbox{}, invalid("Sandbox.NoNetwork", "is set and Sandbox.Mode is off; the sandbox is what keeps commands from the network, so turn it on")
		}
		return sandbox{Confinement: Confinement{Kind: SandboxNone, Reason: "it is switched off"}}, nil
	case ModeAuto, ModeOn:
	default:
		return sandbox{}, invalid("Sandbox.Mode", "is %s; give off, auto or on", quote(string(s.Mode)))
	}
	b := sandbox{Confinement: Confinement{Kind: SandboxLandlock}, prepare: sync.OnceFunc(func() {
		for _, folder := range s.Make {
			_ = os.MkdirAll(folder, 0o700)
		}
	})}
	for _, path := range slices.Concat(s.Write, devices[:]) {
		if !filepath.IsAbs(path) {
			return sandbox{}, invalid("Sandbox.Write", "has %s, which is relative; give absolute paths", quote(path))
		}
		if path = canonical(path); !slices.Contains(b.write, path) {
			b.write = append(b.write, path)
		}
	}
	switch offered := ask(); {
	case offered.version == 0:
		b.Kind, b.Reason = SandboxNone, offered.reason
	case offered.version < firstVersion:
		b.Kind, b.Reason = SandboxNone, fmt.Sprintf("this kernel has version %d of Landlock and %d is needed, which Linux 6.2 has", offered.version, firstVersion)
	case s.NoNetwork && offered.version < networkVersion:
		b.Reason = fmt.Sprintf("the network is not kept from commands: this kernel has version %d of Landlock and %d is needed, which Linux 6.7 has", offered.version, networkVersion)
	default:
		b.NoNetwork = s.NoNetwork
	}
	b.Refuses = s.Mode == ModeOn && b.Reason != ""
	return b, nil
}

// canonical answers a path without links, as far as it is there.
func canonical(path string) string {
	path = filepath.Clean(path)
	for rest := ""; ; {
		if found, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Join(found, rest)
		}
		above, name := filepath.Split(path)
		if above = filepath.Clean(above); above == path {
			return filepath.Join(path, rest)
		}
		path, rest = above, filepath.Join(name, rest)
	}
}

// Confinement is what becomes of commands with a Project.
func (r *Runner) Confinement() Confinement { return r.sandbox.Confinement }

// bounds are what a command is confined to, nil for one that is not.
type bounds struct {
	project   []string // must be there
	write     []string
	noNetwork bool
}

// bounds answers those of a command, or why it must not run.
func (r *Runner) bounds(c Command) (*bounds, error) {
	switch {
	case c.Project == "":
		return nil, nil
	case r.sandbox.Refuses:
		return nil, &Error{Kind: KindSandbox, Text: "commands run in the sandbox only, and there is none: " + r.sandbox.Reason}
	case r.sandbox.Kind == SandboxNone:
		return nil, nil
	}
	r.sandbox.prepare()
	return &bounds{project: append([]string{c.Project}, gitFolder(c.Project)...), write: r.sandbox.write, noNetwork: r.sandbox.NoNetwork}, nil
}
