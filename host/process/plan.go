package process

import "os"

// plan is a command ready to start.
type plan struct {
	Command
	program   string // absolute, or relative to the directory
	argv      []string
	variables []string
	enter     string // the directory the child changes to
	bounds    *bounds
	// spoken: the caller has the program's input and standard output.
	spoken bool
}

// plan finds what a complete command needs, or why it cannot run.
func (r *Runner) plan(c Command) (plan, error) {
	p := plan{Command: c}
	enter, written, err := c.directory()
	if err != nil {
		return p, err
	}
	p.enter = enter
	if p.bounds, err = r.bounds(c); err != nil {
		return p, err
	}
	environment, err := r.inherited.environment(os.Environ(), c.Environment, written)
	if err != nil {
		return p, err
	}
	p.variables = variables(environment)
	if len(c.Argv) == 0 {
		p.program, p.argv = r.shell, shellArgv(r.shell, c.Line)
		return p, nil
	}
	p.argv = c.Argv
	p.program, err = findProgram(c.Argv[0], environment["PATH"])
	return p, err
}
