package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

// openDoors is a host with the offline model and a token.
func openDoors(t *testing.T) *doors {
	w := newWorld(t)
	d := &doors{world: w, host: w.serve(), model: "offline/rules"}
	d.token = d.host.token(w, protocol.ScopeRead, protocol.ScopeWrite)
	return d
}

// command is one command under a key; HTTP and the WebSocket take the same body.
type command struct{ method, path, body, other, key string }

func keyedCommands(id string) []command {
	return []command{
		{"session.create", "/v1/sessions", `{"title":"one"}`, `{"title":"other"}`, "create"},
		{"session.prompt", "/v1/sessions/" + id + "/prompts", `{"text":"count 1","resume":false}`, `{"text":"count 2","resume":false}`, "prompt"},
		{"session.interrupt", "/v1/sessions/" + id + "/interrupt", "", "", "interrupt"},
	}
}

// overHTTP carries out a command and answers its receipt, or the code of its refusal.
func (c command) overHTTP(d *doors, _, body string) (receipt map[string]any, code protocol.Code) {
	d.t.Helper()
	status, _, answer := d.http(call{path: c.path, body: body, header: map[string]string{"Idempotency-Key": c.key}})
	if status >= http.StatusMultipleChoices {
		var p protocol.Problem
		d.decode(answer, &p)
		return nil, p.Code
	}
	d.decode(answer, &receipt)
	return receipt, ""
}

func (c command) overWebSocket(d *doors, id, body string) (receipt map[string]any, code protocol.Code) {
	d.t.Helper()
	params := map[string]any{}
	if body != "" {
		d.decode([]byte(body), &params)
	}
	if c.method != "session.create" {
		params["sessionID"] = id
	}
	encoded, err := json.Marshal(params)
	if err != nil {
		d.t.Fatal(err)
	}
	f, _ := d.dial(nil)
	f.send(fmt.Sprintf(`{"t":"req","id":"r","method":%q,"key":%q,"params":%s}`, c.method, c.key, encoded))
	res := expect[*protocol.Res](f)
	if !res.OK {
		return nil, res.Error.Code
	}
	d.decode(res.Result, &receipt)
	return receipt, ""
}

// TestKeysOverARestart: a command that is repeated under its key, at either door and
// after the host was killed, has one effect and one receipt.
func TestKeysOverARestart(t *testing.T) {
	t.Parallel()
	d := openDoors(t)
	id := d.host.session(d.world)
	first := map[string]map[string]any{}
	for _, c := range keyedCommands(id) {
		receipt, code := c.overHTTP(d, id, c.body)
		if code != "" {
			t.Fatalf("%s: %s", c.method, code)
		}
		first[c.method] = receipt
	}
	d.host.kill()
	d.host = d.serve()
	for _, c := range keyedCommands(id) {
		for name, door := range map[string]func(*doors, string, string) (map[string]any, protocol.Code){"HTTP": c.overHTTP, "WebSocket": c.overWebSocket} {
			again, code := door(d, id, c.body)
			if diff := cmp.Diff(first[c.method], again); diff != "" || code != "" {
				t.Errorf("%s again over %s: %s\n%s", c.method, name, code, diff)
			}
			if c.other == "" {
				continue
			}
			if _, code := door(d, id, c.other); code != protocol.Conflict {
				t.Errorf("%s with another body over %s: %q", c.method, name, code)
			}
		}
	}
	if code := d.conflictOfSessions(); code != protocol.Conflict {
		t.Errorf("an interrupt of another session under the key: %q", code)
	}
	d.once(id, session.PromptAdmitted{}.EventType(), session.InterruptRequested{}.EventType())
	if list, err := d.host.client.Sessions(t.Context(), protocol.ListSessions{}); err != nil || len(list.Sessions) != 3 {
		t.Errorf("%d sessions, %v", len(list.Sessions), err) // the first, the keyed one, and conflictOfSessions'
	}
}

func (d *doors) conflictOfSessions() protocol.Code {
	d.t.Helper()
	_, code := keyedCommands(d.host.session(d.world))[2].overHTTP(d, "", "")
	return code
}

// once checks that the session has exactly one event of each type.
func (d *doors) once(id string, types ...string) {
	d.t.Helper()
	page, err := d.host.client.Events(d.t.Context(), id, "", 1000)
	if err != nil {
		d.t.Fatal(err)
	}
	seen := map[string]int{}
	for _, event := range page.Events {
		seen[event.Type]++
	}
	for _, name := range types {
		if seen[name] != 1 {
			d.t.Errorf("%s happened %d times", name, seen[name])
		}
	}
}

// TestKillInsideACommand: the host is killed at a random point of a keyed command.
// Whether or not it had its effect by then, after the retry it has it once.
func TestKillInsideACommand(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(20261121, 3))
	w := newWorld(t)
	h := w.serve()
	for i := range 12 {
		id := h.session(w)
		key := fmt.Sprint("key ", i)
		dying := time.AfterFunc(time.Duration(random.IntN(3000))*time.Microsecond, h.kill)
		// Whether this is answered is for the clock to say.
		_ = interrupt(w, key, id)
		dying.Stop()
		h.kill()
		h = w.serve()
		for range 2 {
			if err := interrupt(w, key, id); err != nil {
				t.Fatal(err)
			}
		}
		d := &doors{world: w, host: h}
		d.once(id, session.InterruptRequested{}.EventType())
	}
}

// interrupt asks over the unix socket for an interrupt under a key, once.
func interrupt(w *world, key, id string) error {
	transport := &http.Transport{DisableKeepAlives: true, DialContext: dialSocket(w.socket())}
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://localhost/v1/sessions/"+id+"/interrupt", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Idempotency-Key", key)
	response, err := (&http.Client{Transport: transport, Timeout: patience}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", response.Status)
	}
	return nil
}

// dialSocket reaches a unix socket whatever the address.
func dialSocket(path string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
}
