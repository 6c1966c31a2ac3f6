package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

const (
	guestID = "soak/versions"
	tool    = "version"
	// person in a call's input has the guest ask a person, instead of its store.
	person = '~'
	// sought is the key that it looks for otherwise.
	sought = "k"
)

// build is the guest of a build. Its tool answers the name of the version, after it has
// asked the host. Builds have alternating versions, and each fourth is again the one of
// two builds before.
func build(n int) (candidate plugin.Candidate, version string, err error) {
	if n%4 == 3 {
		n -= 2
	}
	version = fmt.Sprintf("%c%d", "AB"[n%2], n)
	guest := bridgetest.NewAsking().AsksEither(abi.ExportTool, person,
		abi.OpKVGet, `{"key":"`+sought+`"}`,
		abi.OpQuestionAsk, `{"questions":[{"header":"h","text":"t","custom":true}]}`,
		`{"ok":{"content":[{"type":"text","text":"`+version+`"}],"structured":`, `}}`)
	candidate, err = plugin.Packed("bench", guest.Packed(fmt.Sprintf(`schema = 1
id = %q
version = "1.0.%d"
description = "Tells its version"
[[tool]]
name = %q
description = "Tells its version"
input = '{"type":"object"}'
permission = "by-operation"
[request.kv]
reason = "soak"
[request.session]
operations = [%q]
reason = "soak"
[limits]
instances = 64
pool_mib = 512
wait_ms = 60000
`, guestID, n, tool, abi.OpQuestionAsk)), false)
	return candidate, version, err
}

// offer has a candidate serve, with all it asks for.
func (k *kernel) offer(ctx context.Context, candidate plugin.Candidate) (revision string, err error) {
	known, err := k.plugins.Offer(ctx, plugin.Offer{Candidate: candidate, Source: plugin.SourceUpload, By: session.System(),
		Grants: []string{"kv", "session:" + abi.OpQuestionAsk}})
	if err == nil && (known.State != session.PluginStateActive || known.Error != "") {
		err = fmt.Errorf("the plugin is %s: %s", known.State, known.Error)
	}
	return known.Revision, err
}

// shelf is the store of plugins' values. It takes a while to look for one, and counts.
type shelf struct {
	store.KV
	slow  atomic.Bool
	looks atomic.Int64
}

// Get finds nothing.
func (s *shelf) Get(ctx context.Context, namespace, key string) ([]byte, error) {
	if key != sought {
		return s.KV.Get(ctx, namespace, key)
	}
	s.looks.Add(1)
	if s.slow.Load() {
		timer := time.NewTimer(20*time.Millisecond + rand.N(60*time.Millisecond))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, store.ErrNotFound
}
