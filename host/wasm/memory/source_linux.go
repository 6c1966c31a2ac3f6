package memory

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newFile writes the contents to a file in memory that nobody, this process
// included, can change afterwards.
func newFile(contents []byte) (s source, err error) {
	s.file, err = unix.MemfdCreate("plinth-guest-image", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return source{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, unix.Close(s.file))
			s = source{}
		}
	}()
	for at := 0; at < len(contents); {
		n, err := unix.Pwrite(s.file, contents[at:], int64(at))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return s, err
		}
		at += max(n, 0)
	}
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(s.file), unix.F_ADD_SEALS, seals); err != nil {
		return s, err
	}
	s.bytes, err = unix.Mmap(s.file, 0, len(contents), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	return s, err
}

func (s source) closeFile() error { return errors.Join(unix.Munmap(s.bytes), unix.Close(s.file)) }

// mapFile maps the source over the start of the range. Pages are shared until
// they are written.
func (e *extent) mapFile(s source) error {
	const protection, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE | unix.MAP_FIXED
	_, err := unix.MmapPtr(s.file, 0, unsafe.Pointer(&e.bytes[0]), uintptr(len(s.bytes)), protection, flags)
	return err
}

// forget gives written pages back: the range shows what is mapped there, or zero.
func (e *extent) forget(s span) error { return unix.Madvise(e.bytes[s.from:s.to], unix.MADV_DONTNEED) }

// smallPages keeps a page written from becoming 512, which would all have to be
// restored. Kernels without large pages refuse, which is as well.
func smallPages(bytes []byte) { _ = unix.Madvise(bytes, unix.MADV_NOHUGEPAGE) }
