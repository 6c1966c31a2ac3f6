package bridge

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/process"
	"github.com/plinthhost/plinth/session"
)

// oneCall performs operations as one call of a tool would, in their order, and answers
// what each permission.ask and question.ask among them said of before.
func (r *rig) oneCall(t *testing.T, steps ...string) (before []bool) {
	t.Helper()
	r.host.asked, r.host.before = nil, nil
	call := &operations{plugin: r.plugin, reach: r.reach, location: r.location, asked: &toolAuthority{host: r.host}, progress: r.host.Progress, host: r.host}
	asks, questions := 0, 0
	for i := 0; i < len(steps); i += 2 {
		call.Call(t.Context(), steps[i], abi.EncodeMessage([]byte(steps[i+1]), nil))
		for ; asks < len(r.host.asked); asks++ {
			before = append(before, r.host.asked[asks].Before)
		}
		for ; questions < len(r.host.before); questions++ {
			before = append(before, r.host.before[questions])
		}
	}
	return before
}

const (
	askDeploy = `{"action":"deploy","resources":["prod"]}`
	askPerson = `{"questions":[{"text":"which","custom":true}]}`
)

// deploys is a rig in which deploying is asked for and all else is allowed.
func deploys(t *testing.T) *rig {
	t.Helper()
	r := newRig(t).stored(t).running(t, process.Options{})
	r.askingFetcher(t)
	r.host.rules = append(allows("*"), rule("deploy", "*", session.Ask))
	return r
}

// An ask says whether the call can be run again from its start: until an operation
// that has an effect was tried, and not after.
func TestAnAskKnowsOfEffects(t *testing.T) {
	effects := map[string]bool{abi.OpFSCommit: true, abi.OpHTTPFetch: true, abi.OpKVDelete: true, abi.OpKVSet: true,
		abi.OpProcessRun: true, abi.OpTaskRun: true, abi.OpTodoSet: true}
	r := deploys(t)
	for operation, request := range requests() {
		t.Run(operation, func(t *testing.T) {
			first := len(r.oneCall(t, operation, request)) // its own asks
			got := r.oneCall(t, operation, request, abi.OpPermissionAsk, askDeploy, abi.OpQuestionAsk, askPerson)
			if len(got) != first+2 {
				t.Fatalf("%d asks, its own are %d", len(got), first)
			}
			if want := []bool{!effects[operation], !effects[operation]}; !cmp.Equal(want, got[first:]) {
				t.Errorf("after %s asks say %v, want %v", operation, got[first:], want)
			}
			// A batch that has it in it has its effect.
			got = r.oneCall(t, abi.OpBatch, batchOf(t, operation, request), abi.OpPermissionAsk, askDeploy)
			if before := got[len(got)-1]; before == effects[operation] {
				t.Errorf("after a batch with %s an ask says %v", operation, before)
			}
		})
	}
}

// The first ask of an operation comes before its effect.
func TestAnOperationAsksBeforeItsEffect(t *testing.T) {
	r := deploys(t)
	r.host.rules = []session.Rule{rule("*", "*", session.Ask)}
	tries := requests()
	for _, operation := range []string{abi.OpFSCommit, abi.OpProcessRun} {
		got := r.oneCall(t, operation, tries[operation], operation, tries[operation])
		if diff := cmp.Diff([]bool{true, false}, got); diff != "" {
			t.Errorf("%s twice: %s", operation, diff)
		}
	}
}

// What goes on beside an ask of a batch may have an effect at any time.
func TestAnAskInABatchIsNotBeforeEffects(t *testing.T) {
	r := deploys(t)
	got := r.oneCall(t, abi.OpBatch, batchOf(t, abi.OpPermissionAsk, askDeploy), abi.OpBatch, batchOf(t, abi.OpQuestionAsk, askPerson),
		abi.OpPermissionAsk, `{"action":"deploy","resources":["test"]}`)
	if diff := cmp.Diff([]bool{false, false, true}, got); diff != "" {
		t.Error(diff)
	}
}

// addresses is a resolver to which every name is a public address.
type addresses struct{}

func (addresses) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
}

// A redirect is asked for when a request has gone out already, whether that was asked
// for or granted.
func TestAnAskForARedirectComesAfterARequest(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Host != "third.example" {
			next := map[string]string{"granted.example": "second.example", "first.example": "second.example", "second.example": "third.example"}
			http.Redirect(w, request, "http://"+next[request.Host]+"/", http.StatusTemporaryRedirect)
		}
	}))
	defer server.Close()
	network, err := egress.NewNetwork(egress.NetworkOptions{Resolver: addresses{}, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
	}})
	if err != nil {
		t.Fatal(err)
	}
	policy, err := egress.NewPolicy(egress.Grant{Origins: []string{"http://granted.example"}, Methods: []string{"POST"}, Paths: []string{"/**"}})
	if err != nil {
		t.Fatal(err)
	}
	fetcher, err := egress.NewFetcher(egress.FetcherOptions{Policy: policy, Network: network})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fetcher.Close(); err != nil {
			t.Error(err)
		}
	})
	for first, want := range map[string][]bool{
		"first.example": {true, false, false}, "granted.example": {false, false}, "third.example": {true},
	} {
		r := newRig(t)
		r.reach.Fetcher, r.reach.AnyURL = fetcher, true
		r.host.rules = []session.Rule{rule("webfetch", "*", session.Ask)}
		got := r.oneCall(t, abi.OpHTTPFetch, encoded(t, map[string]any{"url": "http://" + first + "/", "method": "POST", "text": "x"}))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", first, diff)
		}
	}
}
