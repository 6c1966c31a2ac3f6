package egress

import "unicode/utf8"

// raw makes frames of bytes as they come. Only a character that two reads share
// waits for its end.
type raw struct {
	partial []byte
}

func newRaw() *raw { return &raw{} }

func (r *raw) feed(chunk []byte) ([]Frame, error) {
	r.partial = append(r.partial, chunk...)
	data := r.partial
	whole := len(data)
	for at := len(data) - 1; at >= 0 && at > len(data)-utf8.UTFMax; at-- {
		if utf8.RuneStart(data[at]) {
			if !utf8.FullRune(data[at:]) {
				whole = at
			}
			break
		}
	}
	frames := rawFrame(data[:whole])
	r.partial = append(r.partial[:0], data[whole:]...)
	return frames, nil
}

func (r *raw) end() ([]Frame, error) {
	frames := rawFrame(r.partial)
	r.partial = nil
	return frames, nil
}

func rawFrame(data []byte) []Frame {
	if len(data) == 0 {
		return nil
	}
	return []Frame{{Data: text(data)}}
}
