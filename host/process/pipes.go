package process

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// pipes are what a program reads and prints to, and our ends of it.
type pipes struct {
	theirs [3]*os.File

	input  *os.File // nil when the program has no input
	output *os.File
	errors *os.File // nil when both streams are one
}

// openPipes opens them. On an error nothing is left open.
func openPipes(input, apart bool) (p pipes, err error) {
	defer func() {
		if err != nil {
			p.closeTheirs()
			p.closeOurs()
		}
	}()
	if input {
		p.theirs[0], p.input, err = os.Pipe()
	} else {
		p.theirs[0], err = os.Open(os.DevNull)
	}
	if err != nil {
		return p, err
	}
	if p.output, p.theirs[1], err = os.Pipe(); err != nil {
		return p, err
	}
	p.theirs[2] = p.theirs[1]
	if apart {
		p.errors, p.theirs[2], err = os.Pipe()
	}
	return p, err
}

func (p *pipes) closeTheirs() {
	for _, file := range p.theirs {
		file.Close() // nil, and the same twice, are no files to it
	}
}

func (p *pipes) closeOurs() {
	for _, file := range [...]*os.File{p.input, p.output, p.errors} {
		file.Close()
	}
}

// interrupt ends the reads and writes under way and those to come.
func (p *pipes) interrupt() {
	for _, file := range [...]*os.File{p.input, p.output, p.errors} {
		_ = file.SetDeadline(time.Unix(1, 0))
	}
}

// sealDescriptors makes that a program gets no descriptor of the host that is not
// given to it: the host's own are closed already, those that whoever started the host
// left to it and those of C libraries need not be.
func sealDescriptors() error {
	folder, err := os.Open("/dev/fd")
	if err != nil {
		return err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if descriptor, err := strconv.Atoi(name); err == nil && descriptor > 2 {
			unix.CloseOnExec(descriptor)
		}
	}
	return nil
}
