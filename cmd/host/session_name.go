package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

// sessionID answers the id of the session that a person named: by its id, or by its
// slug, which must be one session's only.
func sessionID(ctx context.Context, host *client.Client, name string) (string, error) {
	if name == "" || session.IsSessionID(name) {
		return name, nil
	}
	page, err := host.Sessions(ctx, protocol.ListSessions{Slug: name})
	if err != nil {
		return "", err
	}
	switch len(page.Sessions) {
	case 0:
		return "", protocol.Errorf(protocol.NotFound, "there is no session %q; name one by its id, ses_…, or its slug, as plinth sessions shows them", oneLine(name, 64))
	case 1:
		return page.Sessions[0].ID, nil
	}
	ids := make([]string, len(page.Sessions))
	for i, s := range page.Sessions {
		ids[i] = s.ID
	}
	return "", &exitError{exitUsage, fmt.Errorf("%d sessions have the slug %q; name one by its id: %s", len(ids), oneLine(name, 64), strings.Join(ids, ", "))}
}
