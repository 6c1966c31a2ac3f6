package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/author/dev"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/replay"
)

// devHost is the host that serves what is developed, as dev.Host. It is looked for until
// there is one.
type devHost struct {
	cli      *cli
	folder   string // of the plugin
	location string
	grants   *grantFlags

	mu     sync.Mutex
	client *client.Client
	leave  func()

	// Serve alone has these.
	looked bool // the host was asked where the plugin comes from
	own    bool // it finds the plugin in its folder by itself
	asked  bool // somebody was asked what the plugin is granted
}

// connected answers a client of the host.
func (h *devHost) connected(ctx context.Context) (*client.Client, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.client != nil {
		return h.client, nil
	}
	host, leave, err := h.cli.connect(ctx, false)
	if err != nil {
		return nil, err
	}
	h.client, h.leave = host, leave
	return host, nil
}

func (h *devHost) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.leave != nil {
		h.leave()
	}
}

// Serve has a version serve.
func (h *devHost) Serve(ctx context.Context, candidate plugin.Candidate) (dev.Served, error) {
	host, err := h.connected(ctx)
	if err != nil {
		return dev.Served{}, err
	}
	named := protocol.PluginParams{ID: candidate.Manifest.ID, Location: h.location}
	if !h.looked {
		if h.own, err = h.comesByItself(ctx, host, named); err != nil {
			return dev.Served{}, err
		}
		h.looked = true
	}
	var known protocol.Plugin
	if h.own {
		known, err = host.ChangePlugin(ctx, named, protocol.ChangePlugin{Action: protocol.ActionReload})
	} else {
		known, err = host.UploadPlugin(ctx, candidate.Wasm, candidate.Origin, h.location, nil)
	}
	if wire, is := errors.AsType[*protocol.Error](err); is && wire.Code != protocol.Unavailable {
		return dev.Served{Reason: wire.Message}, nil
	}
	if err != nil {
		return dev.Served{}, fmt.Errorf("%w; plinth serve starts the host again, and the next save finds it", err)
	}
	if held := known.Held; held != nil && held.Digest == candidate.Digest && !h.asked && !known.Serving {
		h.asked = true
		if known, err = h.approve(ctx, host, known); err != nil {
			return dev.Served{Held: true, Reason: err.Error()}, nil
		}
	}
	return servedAs(known, candidate.Digest), nil
}

// comesByItself reports whether the host looks for the plugin in its folder: one that is
// sent as well would be another plugin of the same name.
func (h *devHost) comesByItself(ctx context.Context, host *client.Client, named protocol.PluginParams) (bool, error) {
	known, err := host.Plugin(ctx, named)
	if wire, is := errors.AsType[*protocol.Error](err); is && wire.Code == protocol.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return (known.Source == plugin.SourceFolder || known.Source == plugin.SourceProject) && sameFile(known.Origin, h.folder), nil
}

// sameFile reports whether two paths lead to the same.
func sameFile(a, b string) bool {
	first, err := filepath.EvalSymlinks(a)
	if err != nil {
		return false
	}
	second, err := filepath.EvalSymlinks(b)
	return err == nil && first == second
}

// servedAs is what became of the version of a digest.
func servedAs(known protocol.Plugin, digest string) dev.Served {
	switch held := known.Held; {
	case held != nil && held.Digest == digest:
		served := dev.Served{Held: true, Reason: fmt.Sprintf("%s; approve of it with plinth plugin approve %s", held.Reason, namedPlugin(known))}
		if held.Change != nil {
			served.Lines = held.Change.Lines
		}
		return served
	case known.Digest == digest && known.Serving:
		return dev.Served{Active: true, Revision: known.Revision}
	case known.State == protocol.PluginDisabled:
		return dev.Served{Reason: "the plugin is disabled: plinth plugin enable " + namedPlugin(known)}
	case known.Error != "":
		return dev.Served{Reason: known.Error}
	}
	return dev.Served{Reason: fmt.Sprintf("the host has the version %s (%.12s) and not this one", known.Version, known.Digest)}
}

// approve asks once about what the first version wants, as plinth plugin add does.
func (h *devHost) approve(ctx context.Context, host *client.Client, known protocol.Plugin) (protocol.Plugin, error) {
	meant, _ := versionOf(known, known.Held.Digest)
	name := oneLine(known.ID+" "+meant.version, 120)
	change := protocol.ChangePlugin{Action: protocol.ActionApprove, Digest: meant.digest}
	switch {
	case len(h.grants.keys) > 0:
		change.Grants = &h.grants.keys
	case h.grants.given():
	case !h.cli.interactive():
		return known, fmt.Errorf("%s waits for approval, and there is no terminal to ask at; say --grant KEY for each request that is granted, or --grant-all, or plinth plugin approve %s", name, namedPlugin(known))
	default:
		tellRequests(h.cli.errors, name, meant)
		keys, err := h.ask(ctx, meant.requests)
		if err != nil {
			return known, err
		}
		if keys == nil {
			return known, fmt.Errorf("not approved; %s waits: plinth plugin approve %s", name, namedPlugin(known))
		}
		change.Grants = &keys
	}
	return host.ChangePlugin(ctx, protocol.PluginParams{ID: known.ID, Location: known.Location}, change)
}

// ask waits for a person, or until ctx ends: then the one who was asked is not heard any
// more. It answers nil for a no.
func (h *devHost) ask(ctx context.Context, requests []protocol.PluginRequest) ([]string, error) {
	answer := make(chan []string, 1)
	go func() {
		keys, ok := askGrants(bufio.NewReader(h.cli.in), h.cli.errors, requests)
		if !ok {
			keys = nil
		}
		answer <- keys
	}()
	select {
	case keys := <-answer:
		return keys, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Watch tells what the plugin does in the host.
func (h *devHost) Watch(ctx context.Context, id string, begun func(), log func(dev.Line), failed func(string, *replay.Recording)) error {
	host, err := h.connected(ctx)
	if err != nil {
		if exitCode(err) == exitUnreachable {
			return nil // Serve says it
		}
		return err
	}
	notices, err := host.WatchPlugin(ctx, protocol.PluginParams{ID: id, Location: h.location})
	if err != nil {
		return err
	}
	begun()
	for notice, err := range notices {
		switch {
		case err != nil:
			return err
		case notice.Lost > 0:
			log(dev.Line{Level: "warn", Text: fmt.Sprintf("%d lines or failed calls are left out here: they came too fast", notice.Lost)})
		}
		if notice.Log != nil {
			log(dev.Line(*notice.Log))
		}
		if notice.Failed != nil {
			call, err := replay.Decode([]byte(notice.Failed.Recording))
			if err != nil {
				return fmt.Errorf("a call failed, and its recording cannot be read: %w", err)
			}
			failed(notice.Revision, call)
		}
	}
	return nil
}
