package client

import (
	"context"
	"net/http"

	"github.com/plinthhost/plinth/client/protocol"
)

// Upload gives the host a file that prompts can then name. Mime is one of
// protocol.BlobTypes; see protocol.FileType. The same bytes give the same blob, so it is
// repeated like other requests. Errors: bad_request for a type or bytes that cannot be
// attached, too_large above protocol.MaxBlob.
func (c *Client) Upload(ctx context.Context, mime string, value []byte) (blob protocol.Blob, err error) {
	if len(value) == 0 {
		return blob, protocol.Errorf(protocol.BadRequest, "an empty file cannot be attached")
	}
	if len(value) > protocol.MaxBlob {
		return blob, protocol.Errorf(protocol.TooLarge, "the file has %d bytes, the limit is %d", len(value), protocol.MaxBlob)
	}
	err = c.do(ctx, request{method: http.MethodPost, path: protocol.BlobsPath, bytes: value, mime: mime}, &blob)
	return blob, err
}
