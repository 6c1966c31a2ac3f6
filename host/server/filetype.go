package server

import (
	"mime"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/filetype"
)

// checkUpload answers the media type of a file: the declared one, which its bytes
// must bear out.
func checkUpload(declared string, value []byte) (string, error) {
	allowed := strings.Join(protocol.BlobTypes(), ", ")
	if declared == "" {
		return "", protocol.Errorf(protocol.BadRequest, "the header Content-Type is missing; it must be one of %s", allowed)
	}
	kind, parameters, err := mime.ParseMediaType(declared)
	if err != nil || !slices.Contains(protocol.BlobTypes(), kind) {
		return "", protocol.Errorf(protocol.BadRequest, "a file of the type %q cannot be attached; Content-Type must be one of %s", clip(declared), allowed)
	}
	if len(value) == 0 {
		return "", protocol.Errorf(protocol.BadRequest, "the body is empty; send the file's bytes")
	}
	if kind == protocol.MimeText {
		return kind, checkText(parameters["charset"], value)
	}
	if found := filetype.Found(value); found != kind {
		return "", protocol.Errorf(protocol.BadRequest, "Content-Type says %s, but the bytes are %s; declare what the file is, one of %s", kind, found, allowed)
	}
	return kind, nil
}

func checkText(charset string, value []byte) error {
	if charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "us-ascii") {
		return protocol.Errorf(protocol.BadRequest, "the charset %q of the text is not supported; send it as UTF-8", clip(charset))
	}
	if at := protocol.NotText(value); at >= 0 {
		return protocol.Errorf(protocol.BadRequest, "Content-Type says %s, but byte %d is %#02x, which UTF-8 text does not have there; declare what the file is",
			protocol.MimeText, at, value[at])
	}
	return nil
}
