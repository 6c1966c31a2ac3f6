package wire

import (
	"encoding/json"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// Signed is what a provider wants back with reasoning, which refuses it otherwise: the
// part's metadata, {"signature": "…"}, or {"redacted": "…"} for reasoning that the
// provider does not show.
type Signed struct {
	Signature string
	Redacted  string
}

// ReadSigned reads the metadata of a part; what else it holds is not looked at.
func ReadSigned(metadata json.RawMessage) (s Signed) {
	r := jsonscan.NewReader(metadata)
	if len(metadata) == 0 || r.Kind() != '{' {
		return s
	}
	for r.Object(); ; {
		key, ok := r.Next()
		switch {
		case !ok:
			return s
		case key == "signature" && r.Kind() == '"':
			s.Signature = r.String()
		case key == "redacted" && r.Kind() == '"':
			s.Redacted = r.String()
		default:
			r.Skip()
		}
	}
}

// Metadata is the metadata to tell with the reasoning, nil when there is nothing.
func (s Signed) Metadata() []byte {
	switch {
	case s.Redacted != "":
		return append(jsonscan.AppendString([]byte(`{"redacted":`), s.Redacted), '}')
	case s.Signature != "":
		return append(jsonscan.AppendString([]byte(`{"signature":`), s.Signature), '}')
	}
	return nil
}

// Unsigned reports whether a part is reasoning that its provider would refuse.
func Unsigned(part abi.Part) bool {
	return part.Type == abi.PartReasoning && ReadSigned(part.Metadata) == (Signed{})
}
