package config

import "strconv"

// Process says how plugins run programs.
type Process struct {
	// Shell runs command lines: a name or an absolute path; bash, or else sh.
	Shell string
	// Inherit names variables of the host that commands see besides the usual ones.
	Inherit []string
	// Sandbox is off, auto or on; auto.
	Sandbox string
	// SandboxWrite are absolute paths that commands in the sandbox write to beside the
	// usual ones; none.
	SandboxWrite []string
	// SandboxNetwork: commands in the sandbox make TCP connections; true.
	SandboxNetwork bool
}

// processTable is [process] as it is written. A nil field was not set.
type processTable struct {
	Shell          *string  `toml:"shell"`
	Inherit        []string `toml:"inherit"`
	Sandbox        *string  `toml:"sandbox"`
	SandboxWrite   []string `toml:"sandbox_write"`
	SandboxNetwork *bool    `toml:"sandbox_network"`
}

func defaultProcess() Process { return Process{Sandbox: "auto", SandboxNetwork: true} }

// process takes the table over. Nothing else gives its settings.
func (l *loader) process(table processTable) {
	set(&l.config.Process.Shell, table.Shell)
	l.config.Process.Inherit = table.Inherit
	set(&l.config.Process.Sandbox, table.Sandbox)
	l.config.Process.SandboxWrite = table.SandboxWrite
	set(&l.config.Process.SandboxNetwork, table.SandboxNetwork)
}

func (l *loader) checkProcess() {
	p := &l.config.Process
	l.oneOf(join("process", "sandbox"), p.Sandbox, "off", "auto", "on")
	for i, path := range p.SandboxWrite {
		p.SandboxWrite[i] = l.absolute(join("process", "sandbox_write", strconv.Itoa(i)), path)
	}
	if network := join("process", "sandbox_network"); p.Sandbox == "off" && !p.SandboxNetwork {
		l.problem(network, p.SandboxNetwork, `goes with the sandbox only; set sandbox = "auto" or "on", or leave it out`)
	}
}
