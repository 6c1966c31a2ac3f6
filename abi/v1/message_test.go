package abi

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

func FuzzMessage(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("\x02\x00\x00"))
	f.Add([]byte("\xff\xff\xff\xff{}"))
	f.Add(EncodeMessage(nil, nil))
	f.Add(EncodeMessage([]byte(`{"body":{"$bytes":[1,2]}}`), []byte("raw")))
	f.Add(EncodeMessage([]byte(`{"$bytes":[0,3]}`), []byte("raw")))
	f.Add(EncodeMessage([]byte(`{"$bytes":[9223372036854775807,1]}`), []byte("raw")))
	f.Fuzz(func(t *testing.T, message []byte) {
		body, raw, err := DecodeMessage(message)
		if err != nil {
			if !errors.Is(err, ErrMessage) || body != nil || raw != nil {
				t.Fatalf("refused with %q, %q, %v", body, raw, err)
			}
			return
		}
		if again := EncodeMessage(body, raw); !bytes.Equal(again, message) {
			t.Fatalf("%q becomes %q", message, again)
		}
		var run Bytes
		if json.Unmarshal(body, &run) != nil {
			return
		}
		part, err := run.Of(raw)
		switch {
		case err != nil && !errors.Is(err, ErrMessage):
			t.Fatalf("refused with %v", err)
		case err == nil && (len(part) != run.Length || !bytes.Equal(part, raw[run.Offset:][:run.Length])):
			t.Fatalf("%+v of %d bytes is %q", run, len(raw), part)
		}
	})
}
