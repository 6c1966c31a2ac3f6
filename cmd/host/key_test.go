package main

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
)

// TestKeysHaveOneEffect: a command that is repeated under its key, by many at once
// and by a retry after a restart, is carried out once and answered the same.
func TestKeysHaveOneEffect(t *testing.T) {
	caller := server.Caller{Actor: "token:ann", Key: "k-1"}
	for _, command := range keyedCommands() {
		t.Run(command.name, func(t *testing.T) {
			r := newRig(t)
			id := command.prepare(r)
			before := command.effects(r, id)
			first, err := command.run(r, caller, id, false)
			if err != nil {
				t.Fatal(err)
			}
			var group sync.WaitGroup
			for range 8 {
				group.Go(func() { r.again(command, caller, id, first) })
			}
			group.Wait()
			r.restart()
			r.again(command, caller, id, first)
			if n := command.effects(r, id) - before; n != 1 {
				t.Errorf("%d effects", n)
			}
			_, err = command.run(r, caller, id, true)
			var wire *protocol.Error
			if !errors.As(err, &wire) || wire.Code != protocol.Conflict || !strings.Contains(wire.Message, "key") {
				t.Errorf("another request under the key: %v", err)
			}
			if n := command.effects(r, id) - before; n != 1 {
				t.Errorf("%d effects after a conflict", n)
			}
		})
	}
}

// again repeats the command and wants the first receipt.
func (r *rig) again(command keyed, caller server.Caller, id string, first any) {
	receipt, err := command.run(r, caller, id, false)
	if err != nil {
		r.t.Error(err)
	}
	if diff := cmp.Diff(first, receipt); diff != "" {
		r.t.Errorf("the retry's receipt (-first +retry):\n%s", diff)
	}
}

// TestManyAtOnce: requests that arrive together are one, too.
func TestManyAtOnce(t *testing.T) {
	caller := server.Caller{Actor: "token:ann", Key: "k-1"}
	for _, command := range keyedCommands() {
		t.Run(command.name, func(t *testing.T) {
			r := newRig(t)
			id := command.prepare(r)
			before := command.effects(r, id)
			receipts := make([]any, 8)
			var group sync.WaitGroup
			for i := range receipts {
				group.Go(func() {
					receipt, err := command.run(r, caller, id, false)
					if err != nil {
						t.Error(err)
					}
					receipts[i] = receipt
				})
			}
			group.Wait()
			for _, receipt := range receipts[1:] {
				if diff := cmp.Diff(receipts[0], receipt); diff != "" {
					t.Errorf("receipts differ:\n%s", diff)
				}
			}
			if n := command.effects(r, id) - before; n != 1 {
				t.Errorf("%d effects", n)
			}
		})
	}
}

// TestKeysOfOthers: a key counts for its actor and its kind of command.
func TestKeysOfOthers(t *testing.T) {
	for _, command := range keyedCommands() {
		if command.single {
			continue // a request has one reply, whoever gives it
		}
		t.Run(command.name, func(t *testing.T) {
			r := newRig(t)
			id := command.prepare(r)
			before := command.effects(r, id)
			for i, caller := range []server.Caller{{Actor: "token:ann", Key: "k"}, {Actor: "token:bob", Key: "k"}, {Actor: "token:ann", Key: "l"}, {Actor: "token:ann"}, {Actor: "token:ann"}} {
				if _, err := command.run(r, caller, id, false); err != nil {
					t.Fatal(err)
				}
				if n := command.effects(r, id) - before; n != i+1 {
					t.Errorf("%+v: %d effects, want %d", caller, n, i+1)
				}
			}
		})
	}
}

func TestDerivedIDs(t *testing.T) {
	seen := map[string]bool{}
	for _, prefix := range []string{session.PrefixSession, session.PrefixMessage} {
		for _, caller := range []server.Caller{{Actor: "a", Key: "b"}, {Actor: "ab", Key: ""}, {Actor: "", Key: "ab"}, {Actor: "a", Key: "b c"}, {Actor: "a b", Key: "c"}} {
			id := idOf(prefix, caller)
			if caller.Key == "" {
				if id != "" {
					t.Errorf("without a key: %q", id)
				}
				continue
			}
			if err := session.CheckID(prefix, id); err != nil || seen[id] || id != idOf(prefix, caller) {
				t.Errorf("%+v: %q, %v", caller, id, err)
			}
			seen[id] = true
		}
	}
}
