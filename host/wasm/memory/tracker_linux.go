package memory

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tracker tells which pages of a private mapping were written, from what the
// kernel says about them in /proc/self/pagemap.
type tracker struct {
	pagemap int  // descriptor, noFile once closed
	page    int  // bytes
	counts  bool // faults can be relied on
}

// unknown is a number of faults that equals none.
const unknown = -1

// Bits of a page's entry.
const (
	present = 1 << 63
	swapped = 1 << 62
	shared  = 1 << 61 // it is the file's, so was not written
)

// newTracker answers nil where the kernel does not tell, or tells wrong.
func newTracker() *tracker {
	pagemap, err := unix.Open("/proc/self/pagemap", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	t := &tracker{pagemap: pagemap, page: os.Getpagesize(), counts: true}
	if !t.works() {
		_ = t.close()
		return nil
	}
	return t
}

func (t *tracker) close() error {
	if t.pagemap == noFile {
		return nil
	}
	pagemap := t.pagemap
	t.pagemap = noFile
	return unix.Close(pagemap)
}

// faults counts the page faults of the process so far.
func (t *tracker) faults() int64 {
	var usage unix.Rusage
	if !t.counts || unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return unknown
	}
	return int64(usage.Minflt) + int64(usage.Majflt)
}

// written appends the spans of bytes whose pages are not the mapped file's.
func (t *tracker) written(spans []span, bytes []byte) ([]span, error) {
	var entries [512]uint64
	for at := 0; at < len(bytes); {
		n, err := t.read(entries[:min(len(entries), (len(bytes)-at)/t.page)], bytes[at:])
		if err != nil {
			return spans, err
		}
		for _, entry := range entries[:n] {
			if entry&(present|swapped) != 0 && entry&shared == 0 {
				spans = add(spans, at, at+t.page)
			}
			at += t.page
		}
	}
	return spans, nil
}

// read answers how many entries, of the pages from bytes on, it read.
func (t *tracker) read(entries []uint64, bytes []byte) (int, error) {
	const size = int(unsafe.Sizeof(entries[0]))
	raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(entries))), len(entries)*size)
	page := int64(uintptr(unsafe.Pointer(unsafe.SliceData(bytes)))) / int64(t.page)
	n, err := unix.Pread(t.pagemap, raw, page*int64(size))
	if err == nil && n < size {
		err = errors.New("pagemap ends early")
	}
	return n / size, err
}
