package bridge

import (
	"net/http"
	"strings"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/process"
	"github.com/plinthhost/plinth/host/trust"
)

// withheld is a manifest that asks for everything; none of it is granted.
func withheld() []trust.RequestRecord {
	return trust.Records(abi.Manifest{Request: abi.ManifestRequest{
		HTTP: []abi.ManifestHTTP{{Origins: []string{"*"}}, {Origins: []string{"http://127.0.0.1:1"}, Methods: []string{"GET"}, Paths: []string{"/"}},
			{Origins: []string{"https://bücher.example"}, Methods: []string{"GET"}, Paths: []string{"/**"}}},
		FS: []abi.ManifestFS{{Root: "location", Access: "read"}, {Root: "location", Access: "write"}},
		KV: &abi.ManifestKV{}, Process: &abi.ManifestProcess{}, Session: &abi.ManifestSession{Operations: SessionOperations()},
	}})
}

// What the manifest asks for and the operator did not grant is denied by the name of the
// request, for each operation of the table.
func TestWhatIsWithheldIsNamed(t *testing.T) {
	r := newRig(t).stored(t).running(t, process.Options{})
	r.reach.Grants = Grants{Withheld: withheld()}
	keys := map[string]string{abi.OpHTTPFetch: "http:http://127.0.0.1:1", abi.OpFSCommit: "fs:location:write", abi.OpProcessRun: "process"}
	for operation, request := range requests() {
		if harmless[operation] {
			continue
		}
		key, ok := keys[operation]
		family, _, _ := strings.Cut(operation, ".")
		switch {
		case ok:
		case family == "fs":
			key = "fs:location:read"
		case family == "kv":
			key = "kv"
		default:
			key = "session:" + operation
		}
		refused := failure(t, r.ask(t, operation, request))
		if refused.Kind != abi.KindDenied || refused.Message != trust.Refusal("acme/test", key) {
			t.Errorf("%s: %s: %s", operation, refused.Kind, refused.Message)
		}
	}
}

// A grant beside does not hide what is withheld, and what the manifest never asked for is
// told as before.
func TestWhatIsGrantedBesideWhatIsWithheld(t *testing.T) {
	r := newRig(t).stored(t)
	url := reaching(t, r, func(http.ResponseWriter, *http.Request) {})
	r.reach.Withheld = withheld()
	r.reach.Roots = map[string]Access{RootLocation: AccessRead}
	for _, test := range []struct{ operation, request, want string }{
		{abi.OpFSStat, `{"path":"a.txt"}`, ""},
		{abi.OpFSCommit, requests()[abi.OpFSCommit], trust.Refusal("acme/test", "fs:location:write")},
		{abi.OpFSRead, `{"root":"config","path":"x"}`, `this plugin has no grant for the root "config"; its manifest must ask for it with [[request.fs]]`},
		{abi.OpHTTPFetch, `{"url":"` + url + `/api/a"}`, ""},
		{abi.OpHTTPFetch, `{"url":"http://127.0.0.1:1/"}`, trust.Refusal("acme/test", "http:http://127.0.0.1:1")},
		{abi.OpHTTPFetch, `{"url":"https://xn--bcher-kva.example/a"}`, trust.Refusal("acme/test", "http:https://b%C3%BCcher.example")},
		{abi.OpHTTPFetch, `{"url":"https://c.example/"}`, trust.Refusal("acme/test", "http:*")},
	} {
		refused := failure(t, r.ask(t, test.operation, test.request))
		if refused.Message != test.want || test.want != "" && refused.Kind != abi.KindDenied {
			t.Errorf("%s %s: %s: %s", test.operation, test.request, refused.Kind, refused.Message)
		}
	}
	r.reach.Withheld = nil
	if refused := failure(t, r.ask(t, abi.OpHTTPFetch, `{"url":"https://c.example/"}`)); refused.Message != "https://c.example is not granted" {
		t.Errorf("%+v", refused)
	}
}
