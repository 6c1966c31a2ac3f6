package wasm

import (
	"fmt"
	"unicode/utf8"
)

// reader walks the bytes of a module. The first mistake sticks: what is read
// after it is zero.
type reader struct {
	wasm []byte
	pos  int
	end  int
	err  *AdmissionError
}

// refuse records a mistake at the byte where the current item began.
func (r *reader) refuse(at int, fix, format string, args ...any) {
	if r.err == nil {
		r.err = &AdmissionError{Stage: StageParse, Offset: at, Reason: fmt.Sprintf(format, args...), Fix: fix}
	}
	r.pos = r.end
}

func (r *reader) failed() bool { return r.err != nil }

// byte reads one byte.
func (r *reader) byte() byte {
	if r.pos >= r.end {
		r.refuse(r.pos, "", "unexpected end")
		return 0
	}
	r.pos++
	return r.wasm[r.pos-1]
}

// u32 reads an unsigned LEB128 of at most 5 bytes.
func (r *reader) u32() uint32 {
	at := r.pos
	var value uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		if r.failed() {
			return 0
		}
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if value > 0xffffffff {
				break
			}
			return uint32(value)
		}
	}
	r.refuse(at, "", "number does not fit 32 bits")
	return 0
}

// count reads the length of a vector, at most limit.
func (r *reader) count(what string, limit int) int {
	at := r.pos
	n := r.u32()
	if n > uint32(limit) {
		r.refuse(at, "", "%d %s, the limit is %d", n, what, limit)
		return 0
	}
	return int(n)
}

// bytes reads n bytes; the result aliases the module.
func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(r.end-r.pos) {
		r.refuse(r.pos, "", "%d bytes announced, %d are there", n, r.end-r.pos)
		return nil
	}
	r.pos += int(n)
	return r.wasm[r.pos-int(n) : r.pos]
}

// name reads a UTF-8 string of at most maxName bytes.
func (r *reader) name() string {
	at := r.pos
	n := r.u32()
	if n > maxName {
		r.refuse(at, "", "a name of %d bytes, the limit is %d", n, maxName)
		return ""
	}
	text := r.bytes(n)
	if !utf8.Valid(text) {
		r.refuse(at, "", "a name is not UTF-8")
		return ""
	}
	return string(text)
}

// sub is a reader over the next n bytes, which r then has passed.
func (r *reader) sub(n uint32) *reader {
	at := r.pos
	if r.bytes(n) == nil && n > 0 {
		return &reader{wasm: r.wasm, pos: at, end: at, err: r.err}
	}
	return &reader{wasm: r.wasm, pos: at, end: at + int(n)}
}

// finish demands that everything was read.
func (r *reader) finish(what string) {
	if !r.failed() && r.pos != r.end {
		r.refuse(r.pos, "", "%d bytes too many in %s", r.end-r.pos, what)
	}
}
