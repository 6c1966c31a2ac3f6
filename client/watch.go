package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"

	"github.com/plinthhost/plinth/client/protocol"
)

// maxNotice bounds a line of what a plugin does, in bytes.
const maxNotice = 64 << 20

// WatchPlugin tells what the guest of a plugin does from when it returns, which need not be
// there yet: the lines that it logs, and its calls that fail. The sequence ends with ctx,
// which ends the connection also where nothing is read, or with the error that broke it
// off.
func (c *Client) WatchPlugin(ctx context.Context, named protocol.PluginParams) (iter.Seq2[protocol.PluginNotice, error], error) {
	httpRequest, err := c.newRequest(ctx, request{method: http.MethodGet, path: pluginPath(named.ID) + "/watch", query: pluginQuery(named)})
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(httpRequest)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, unreachable(c.options.Address, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		defer response.Body.Close()
		body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		if err != nil {
			return nil, unreachable(c.options.Address, err)
		}
		return nil, problem(response, body)
	}
	return func(yield func(protocol.PluginNotice, error) bool) {
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, maxNotice)
		for lines.Scan() {
			if len(bytes.TrimSpace(lines.Bytes())) == 0 {
				continue
			}
			notice, err := readNotice(lines.Bytes())
			if !yield(notice, err) || err != nil {
				return
			}
		}
		switch err := lines.Err(); {
		case ctx.Err() != nil:
		case err == nil:
			yield(protocol.PluginNotice{}, protocol.Errorf(protocol.Unavailable, "the host at %s has ended the connection", c.options.Address))
		default:
			yield(protocol.PluginNotice{}, unreachable(c.options.Address, err))
		}
	}, nil
}

// readNotice reads a line, which may be the error that ends the stream.
func readNotice(line []byte) (protocol.PluginNotice, error) {
	var read struct {
		protocol.PluginNotice
		Error *protocol.Error `json:"error"`
	}
	if err := json.Unmarshal(line, &read); err != nil {
		return protocol.PluginNotice{}, fmt.Errorf("decode what a plugin does: %w", err)
	}
	if read.Error != nil {
		return protocol.PluginNotice{}, read.Error
	}
	if read.Log == nil && read.Failed == nil {
		return protocol.PluginNotice{}, errors.New("decode what a plugin does: a notice has neither log nor failed")
	}
	return read.PluginNotice, nil
}
