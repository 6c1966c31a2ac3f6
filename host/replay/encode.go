package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MaxFileBytes is the largest file that is read. A recorder's limit keeps what it
// writes below it.
const MaxFileBytes = 64 << 20

// tail is the last line.
type tail struct {
	End *End `json:"end"`
}

// Encode answers the file of a recording: a line of JSON for the header, one for each
// step and one for the end.
func (r *Recording) Encode() ([]byte, error) {
	var file bytes.Buffer
	line := func(name string, value any) error {
		text, err := marshal(value)
		if err != nil {
			return fmt.Errorf("encode a recording: %s: %w", name, err)
		}
		file.Write(text)
		file.WriteByte('\n')
		return nil
	}
	if err := line("header", r.Header); err != nil {
		return nil, err
	}
	for i, step := range r.Steps {
		if err := line(fmt.Sprintf("step %d", i+1), step); err != nil {
			return nil, err
		}
	}
	if err := line("end", tail{&r.End}); err != nil {
		return nil, err
	}
	return file.Bytes(), nil
}

// marshal writes JSON as it is read: without escapes for HTML.
func marshal(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(text.Bytes(), []byte{'\n'}), err
}
