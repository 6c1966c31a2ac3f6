package memory

import "golang.org/x/sys/unix"

func (t *tracker) disable(counting bool) { t.counts = t.counts && !counting }

// Break makes every look at the page table fail.
func (p *Pool) Break() error {
	err := unix.Close(p.tracker.pagemap)
	p.tracker.pagemap = noFile
	return err
}
