package client_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server/servertest"
)

func TestTransfers(t *testing.T) {
	t.Parallel()
	h := start(t)
	for _, options := range []client.Options{{Address: "unix:" + h.socket}, {Address: h.url, Token: h.admin}} {
		c := dial(t, options)
		created, err := c.CreateSession(t.Context(), protocol.CreateSession{})
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := c.Export(t.Context(), created.ID, true, &file); err != nil || file.String() != created.ID+" children=true\n" {
			t.Errorf("exported %q, %v", file.String(), err)
		}
		file.Reset()
		if err := c.Share(t.Context(), created.ID, protocol.ShareSession{Format: protocol.ShareJSON, Reasoning: true}, &file); err != nil || file.String() != created.ID+" json reasoning=true\n" {
			t.Errorf("shared %q, %v", file.String(), err)
		}
		result, err := c.Import(t.Context(), strings.NewReader("12345"))
		if err != nil || result.Sessions[0].Events != 5 {
			t.Errorf("imported %+v, %v", result, err)
		}
		if backup, err := c.Backup(t.Context(), "/b"); err != nil || backup.Folder != "/b" {
			t.Errorf("backup %+v, %v", backup, err)
		}
		file.Reset()
		if err := c.Export(t.Context(), servertest.BrokenSession, false, &file); err == nil {
			t.Error("an export that broke off is whole")
		}
		if err := c.Export(t.Context(), "ses_none", false, &file); !errors.Is(err, &protocol.Error{Code: protocol.NotFound}) {
			t.Errorf("of no session: %v", err)
		}
	}
}
