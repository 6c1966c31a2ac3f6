package audit_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/audit"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

func (w *world) auditHost() []audit.Difference {
	w.T.Helper()
	auditor := audit.Auditor{Log: w.Log, Blobs: w.Log.Blobs(), Columns: sqlite.Columns,
		Scratch: func(context.Context) (store.Log, func() error, error) {
			scratch := sessiontest.OpenStore(w.T, w.T.TempDir())
			return scratch, scratch.Close, nil
		}}
	found, err := auditor.Host(w.T.Context())
	if err != nil {
		w.T.Fatal(err)
	}
	return found
}

// What plugins there are is a fold of the host's events; so are the kept approvals.
func TestTheHostsTablesAreAudited(t *testing.T) {
	for name, test := range map[string]struct{ damage, want string }{
		"sound":            {"", ""},
		"another state":    {`UPDATE plugin SET state = 'disabled'`, "host plugin plugin=acme/a location=: the log gives another state"},
		"another revision": {`UPDATE plugin_revision SET blocked = 1`, "host plugin_revision plugin=acme/a location= revision=r1: the log gives another blocked"},
		"an approval more": {`INSERT INTO plugin_approval VALUES ('acme/b', '', 'd', 1, '{}')`, "host plugin_approval plugin=acme/b location= digest=d: the row is stored, and the log has no cause for it"},
		"a folder gone":    {`DELETE FROM trusted_folder`, "host trusted_folder root=/p: the row is missing"},
		"a rule gone":      {`DELETE FROM approval`, "host approval root=/p plugin= action=bash resource=ls: the row is missing"},
		"an event":         {`UPDATE log_event SET data = x'7b' WHERE type = 'host.plugin.activated'`, "its log cannot be replayed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if found := w.auditHost(); len(found) != 0 {
				t.Errorf("of a host without events: %v", found)
			}
			w.record(session.Host, session.FolderTrusted{Root: "/p"}, session.ApprovalSaved{Root: "/p", Action: "bash", Resource: "ls"},
				session.PluginApproved{Plugin: "acme/a", Digest: "d", Grants: []string{"kv"}, Requests: []byte(`[]`)},
				session.PluginStaged{Plugin: "acme/a", Revision: "r1", Digest: "d", Version: "1.0.0", Source: "upload", Origin: "a.wasm", Terms: []byte(`{}`)},
				session.PluginActivated{Plugin: "acme/a", Revision: "r1"})
			if test.damage != "" {
				w.alter(test.damage)
			}
			found := w.auditHost()
			if test.want == "" && len(found) != 0 || test.want != "" && (len(found) != 1 || !strings.Contains(fmt.Sprint(found), test.want)) {
				t.Errorf("found %v, want %q", found, test.want)
			}
		})
	}
}
