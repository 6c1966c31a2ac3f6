package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/plinthhost/plinth/client/protocol"
)

// Rehearse has the host run a packed plugin beside the version of it that serves, on the
// last turns of a session; 0 leaves their number to the host. Nothing is activated and
// nothing recorded, so it is repeated like other requests. Errors: not_found for the
// session, bad_request for a file that is no plugin, conflict where it could not serve or
// nothing serves that it could be compared with, too_large above protocol.MaxPlugin.
func (c *Client) Rehearse(ctx context.Context, session string, turns int, packed []byte) (rehearsal protocol.Rehearsal, err error) {
	switch {
	case len(packed) == 0:
		return rehearsal, protocol.Errorf(protocol.BadRequest, "an empty file is no plugin")
	case len(packed) > protocol.MaxPlugin:
		return rehearsal, protocol.Errorf(protocol.TooLarge, "the plugin has %d bytes, the limit is %d", len(packed), protocol.MaxPlugin)
	}
	query := url.Values{"session": {session}}
	if turns != 0 {
		query.Set("turns", strconv.Itoa(turns))
	}
	err = c.do(ctx, request{method: http.MethodPost, path: protocol.RehearsePath, query: query, bytes: packed, mime: protocol.MimeWasm}, &rehearsal)
	return rehearsal, err
}
