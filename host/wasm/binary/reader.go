package binary

import (
	"fmt"
	"unicode/utf8"
)

// reader walks the bytes of a module. The first mistake sticks: what is read
// after it is zero.
type reader struct {
	wasm    []byte
	pos     int
	end     int
	section string
	err     *Error
}

// fail records a malformed item that began at the byte at.
func (r *reader) fail(at int, format string, args ...any) {
	r.refuse(&Error{Offset: at, Reason: fmt.Sprintf(format, args...)})
}

// unsupported records the use of a proposal.
func (r *reader) unsupported(at int, proposal, format string, args ...any) {
	r.refuse(&Error{
		Offset: at, Proposal: proposal, Fix: fixOf(proposal),
		Reason: fmt.Sprintf(format, args...) + ": " + proposal + " is not supported",
	})
}

// fixOf is how to build without a proposal.
func fixOf(proposal string) string {
	switch proposal {
	case proposalThreads:
		return "build without threads: for wasip1, not for wasip1-threads, and without -pthread"
	case proposalMemory64:
		return "build for wasm32, not for wasm64"
	}
	return "build without " + proposal
}

// exceed records a count beyond a limit.
func (r *reader) exceed(at int, what string, got, limit int64, knob, fix string) {
	r.refuse(&Error{
		Offset: at, Knob: knob, Got: got, Limit: limit, Fix: fix,
		Reason: fmt.Sprintf("%d %s, the limit is %d", got, what, limit),
	})
}

func (r *reader) refuse(err *Error) {
	if r.err == nil {
		err.Section = r.section
		r.err = err
	}
	r.pos = r.end
}

func (r *reader) failed() bool { return r.err != nil }

// byte reads one byte.
func (r *reader) byte() byte {
	if r.pos >= r.end {
		r.fail(r.pos, "unexpected end")
		return 0
	}
	r.pos++
	return r.wasm[r.pos-1]
}

// u32 reads an unsigned LEB128 number of at most 5 bytes.
func (r *reader) u32() uint32 {
	if r.pos < r.end && r.wasm[r.pos] < 0x80 {
		r.pos++
		return uint32(r.wasm[r.pos-1])
	}
	return r.longU32()
}

func (r *reader) longU32() uint32 {
	at := r.pos
	var value uint32
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		if r.failed() {
			return 0
		}
		if shift == 28 && b > 0x0f {
			break
		}
		value |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return value
		}
	}
	r.fail(at, "number does not fit 32 bits")
	return 0
}

// signed reads a signed LEB128 number of that many bits. The bits its last byte
// has to spare repeat the sign.
func (r *reader) signed(bits int) int64 {
	if r.pos < r.end && r.wasm[r.pos] < 0x80 {
		r.pos++
		return int64(r.wasm[r.pos-1]) << 57 >> 57
	}
	return r.longSigned(bits)
}

func (r *reader) longSigned(bits int) int64 {
	at := r.pos
	var value int64
	for shift := 0; shift < bits; shift += 7 {
		b := r.byte()
		if r.failed() {
			return 0
		}
		value |= int64(b&0x7f) << shift
		if left := bits - shift; left <= 7 {
			spare := int8(b<<1) >> left // the sign bit and those above it
			if b >= 0x80 || spare != 0 && spare != -1 {
				break
			}
			return value << (64 - bits) >> (64 - bits)
		}
		if b < 0x80 {
			return value << (57 - shift) >> (57 - shift)
		}
	}
	r.fail(at, "number does not fit %d bits", bits)
	return 0
}

// count reads the length of a vector whose items take at least one byte each.
func (r *reader) count(what string, limit int, knob string) int {
	at := r.pos
	n := r.u32()
	if int64(n) > int64(limit) {
		r.exceed(at, what, int64(n), int64(limit), knob, "")
		return 0
	}
	if int64(n) > int64(r.end-r.pos) {
		r.fail(at, "%d %s announced, %d bytes are there", n, what, r.end-r.pos)
		return 0
	}
	return int(n)
}

// index reads an index that must be below count.
func (r *reader) index(what string, count int) uint32 {
	at := r.pos
	index := r.u32()
	if uint64(index) >= uint64(count) && !r.failed() {
		r.fail(at, "%s %d does not exist", what, index)
		return 0
	}
	return index
}

// bytes reads n bytes; the result aliases the module.
func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(r.end-r.pos) {
		r.fail(r.pos, "%d bytes announced, %d are there", n, r.end-r.pos)
		return nil
	}
	r.pos += int(n)
	return r.wasm[r.pos-int(n) : r.pos : r.pos]
}

// name reads a UTF-8 string.
func (r *reader) name(limit int) string {
	at := r.pos
	n := r.u32()
	if int64(n) > int64(limit) {
		r.exceed(at, "bytes in a name", int64(n), int64(limit), "NameBytes", "")
		return ""
	}
	text := r.bytes(n)
	if !utf8.Valid(text) {
		r.fail(at, "a name is not UTF-8")
		return ""
	}
	return string(text)
}

// finish demands that everything was read.
func (r *reader) finish(what string) {
	if !r.failed() && r.pos != r.end {
		r.fail(r.pos, "%d bytes too many in the %s", r.end-r.pos, what)
	}
}
