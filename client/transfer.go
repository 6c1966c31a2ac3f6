package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/plinthhost/plinth/client/protocol"
)

// Export writes the session to a file that Import takes at another host; with the
// sessions that its calls made, and theirs, when children is set. What was written
// before an error is not whole.
func (c *Client) Export(ctx context.Context, session string, children bool, to io.Writer) error {
	query := url.Values{}
	if children {
		query.Set("children", "true")
	}
	return c.download(ctx, request{method: http.MethodGet, path: sessionPath(session, "/export"), query: query}, to)
}

// Share writes the transcript for people.
func (c *Client) Share(ctx context.Context, session string, share protocol.ShareSession, to io.Writer) error {
	query := url.Values{}
	set(query, "format", string(share.Format))
	if share.Reasoning {
		query.Set("reasoning", "true")
	}
	return c.download(ctx, request{method: http.MethodGet, path: sessionPath(session, "/share"), query: query}, to)
}

// Import gives the host exported sessions. It is made once: after an error it can be
// repeated, what was taken is found to be there. Errors: bad_request for a file that is
// none, or is damaged; conflict for a session that is there and is another one.
func (c *Client) Import(ctx context.Context, from io.Reader) (result protocol.ImportResult, err error) {
	err = c.attempt(ctx, request{method: http.MethodPost, path: protocol.ImportPath, stream: from, mime: protocol.MimeBundle}, &result)
	return result, err
}

// Backup has the host back its store up into a folder of its own machine.
func (c *Client) Backup(ctx context.Context, folder string) (backup protocol.Backup, err error) {
	err = c.attempt(ctx, request{method: http.MethodPost, path: "/v1/host/backup", body: protocol.CreateBackup{Folder: folder}}, &backup)
	return backup, err
}

// download makes a request once and hands its answer on.
func (c *Client) download(ctx context.Context, r request, to io.Writer) error {
	httpRequest, err := c.newRequest(ctx, r)
	if err != nil {
		return err
	}
	response, err := c.http.Do(httpRequest)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%s %s: %w", r.method, r.path, context.Cause(ctx))
		}
		return unreachable(c.options.Address, err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusMultipleChoices {
		body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		if err != nil {
			return unreachable(c.options.Address, err)
		}
		return problem(response, body)
	}
	if _, err := io.Copy(to, response.Body); err != nil {
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%s %s: %w", r.method, r.path, context.Cause(ctx))
		case errors.Is(err, io.ErrUnexpectedEOF):
			return protocol.Errorf(protocol.Internal, "the answer broke off; the host's log says why")
		}
		return fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	return nil
}
