package main

import (
	"context"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/host/mcp"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// pluginService is server.Plugins.
type pluginService struct {
	*backend
	network     *egress.Network // that plugins are downloaded over
	servers     *mcp.Hub
	reconfigure func(ctx context.Context, by session.Origin) error
}

// List waits for what was found at the start, so that a new host does not seem empty.
func (b pluginService) List(ctx context.Context) (protocol.PluginList, error) {
	b.plugins.Ready(ctx, pluginPatience)
	b.servers.Ready(ctx)
	cursor, err := b.head(ctx, session.Host)
	if err != nil {
		return protocol.PluginList{}, wireError(err)
	}
	list := protocol.PluginList{Trusted: b.plugins.Trusted(), Cursor: cursor}
	for _, status := range b.plugins.List() {
		list.Plugins = append(list.Plugins, wirePlugin(status))
	}
	for _, refusal := range b.plugins.Refusals() {
		list.Plugins = append(list.Plugins, protocol.Plugin{Origin: refusal.Origin, State: protocol.PluginFailed, Error: refusal.Error})
	}
	return list, nil
}

func (b pluginService) Get(ctx context.Context, named protocol.PluginParams) (protocol.Plugin, error) {
	b.plugins.Ready(ctx, pluginPatience)
	b.servers.Ready(ctx)
	return b.look(ctx, b.ref(named))
}

// look answers a plugin as it is now.
func (b pluginService) look(ctx context.Context, ref plugin.Ref) (protocol.Plugin, error) {
	cursor, err := b.head(ctx, session.Host)
	if err != nil {
		return protocol.Plugin{}, wireError(err)
	}
	status, err := b.plugins.Show(ref)
	if err != nil {
		return protocol.Plugin{}, pluginError(err)
	}
	wire := wirePlugin(status)
	wire.Cursor = cursor
	return wire, nil
}

// ref names a plugin in the scope of the project that a folder is in. A folder that is
// not there any more stands for itself.
func (b pluginService) ref(named protocol.PluginParams) plugin.Ref {
	location := named.Location
	if place, err := fsys.FindPlace(location); err == nil {
		location = place.Root
	} else if location != "" {
		location = filepath.Clean(location)
	}
	return plugin.Ref{ID: named.ID, Location: location}
}

// projectOf is the root of the project that a folder is in; empty for no folder.
func projectOf(field, folder string) (string, error) {
	if folder == "" {
		return "", nil
	}
	place, err := fsys.FindPlace(folder)
	if file, ok := errors.AsType[*fsys.Error](err); ok {
		return "", protocol.Errorf(protocol.BadRequest, "%s %s; give the absolute path of a folder on the host's machine", field, file.Error())
	}
	return place.Root, err
}

func (b pluginService) Upload(ctx context.Context, caller server.Caller, upload server.PluginUpload) (protocol.Plugin, error) {
	location, err := projectOf("location", upload.Location)
	if err != nil {
		return protocol.Plugin{}, wireError(err)
	}
	name := upload.Origin
	if name == "" {
		name = "a file that was sent"
	}
	candidate, err := plugin.Packed(oneLine(name, 300), upload.Wasm, false)
	if err != nil {
		return protocol.Plugin{}, pluginError(err)
	}
	return b.offer(ctx, caller, plugin.Offer{Candidate: candidate, Source: plugin.SourceUpload, Location: location, Grants: upload.Grants})
}

func (b pluginService) Add(ctx context.Context, caller server.Caller, request protocol.AddPlugin) (protocol.Plugin, error) {
	location, err := projectOf("location", request.Location)
	if err != nil {
		return protocol.Plugin{}, wireError(err)
	}
	address := request.URL
	if sum := request.SHA256; sum != "" {
		if digest, err := hex.DecodeString(sum); err != nil || len(digest) != 32 {
			return protocol.Plugin{}, protocol.Errorf(protocol.BadRequest, "sha256 must be 64 hexadecimal digits, as sha256sum prints them")
		}
		if strings.Contains(address, "#") {
			return protocol.Plugin{}, protocol.Errorf(protocol.BadRequest, "url says behind # what is to come, and sha256 says it too; leave one out")
		}
		address += "#sha256=" + sum
	}
	candidate, err := plugin.Download(ctx, b.network, address)
	if err != nil {
		return protocol.Plugin{}, pluginError(err)
	}
	return b.offer(ctx, caller, plugin.Offer{Candidate: candidate, Source: plugin.SourceURL, Location: location, Grants: request.Grants})
}

// offer has a plugin serve or be held. Who goes away leaves it to its end; the same again
// changes nothing, so a key has nothing to do.
func (b pluginService) offer(ctx context.Context, caller server.Caller, offer plugin.Offer) (protocol.Plugin, error) {
	b.plugins.Ready(ctx, pluginPatience)
	offer.By = origin(caller)
	if _, err := b.plugins.Offer(ctx, offer); err != nil {
		return protocol.Plugin{}, pluginError(err)
	}
	return b.look(ctx, plugin.Ref{ID: offer.Candidate.Manifest.ID, Location: offer.Location})
}

// The commands on plugins that keys can repeat. The others change nothing the second
// time.
const (
	commandRollback     = "plugin.rollback"
	commandRemovePlugin = "plugin.remove"
)

func (b pluginService) Change(ctx context.Context, caller server.Caller, named protocol.PluginParams, change protocol.ChangePlugin) (protocol.Plugin, error) {
	b.plugins.Ready(ctx, pluginPatience)
	b.servers.Ready(ctx)
	ref, by := b.ref(named), origin(caller)
	var err error
	switch change.Action {
	case protocol.ActionApprove:
		approval := plugin.Approval{Digest: change.Digest}
		if change.Grants != nil {
			approval.Grants = append([]string{}, *change.Grants...)
		}
		_, err = b.plugins.Approve(ctx, by, ref, approval)
	case protocol.ActionRollback:
		err = b.once(ctx, caller, commandRollback, []any{ref, change.Revision}, session.PluginRolledBack{}, func(by session.Origin) error {
			_, err := b.plugins.Rollback(ctx, by, ref, change.Revision)
			return err
		})
	case protocol.ActionDisable:
		_, err = b.plugins.Disable(ctx, by, ref)
	case protocol.ActionEnable:
		_, err = b.plugins.Enable(ctx, by, ref)
	case protocol.ActionReload:
		if b.lookAtServer(ctx, ref.ID, true) {
			break
		}
		_, err = b.plugins.Reload(ctx, by, ref)
	}
	if change.Action == protocol.ActionDisable || change.Action == protocol.ActionEnable {
		b.lookAtServer(ctx, ref.ID, false)
	}
	if err != nil {
		return protocol.Plugin{}, pluginError(err)
	}
	return b.look(ctx, ref)
}

func (b pluginService) Remove(ctx context.Context, caller server.Caller, named protocol.PluginParams, removal protocol.RemovePlugin) error {
	b.plugins.Ready(ctx, pluginPatience)
	ref := b.ref(named)
	return pluginError(b.once(ctx, caller, commandRemovePlugin, []any{ref, removal}, session.PluginRemoved{}, func(by session.Origin) error {
		return b.plugins.Remove(ctx, by, ref, plugin.Removal{Purge: removal.Purge, Patience: time.Duration(removal.ForceMS) * time.Millisecond})
	}))
}

// once carries out a command on a plugin, unless an attempt under the caller's key left
// its event already.
func (b pluginService) once(ctx context.Context, caller server.Caller, command string, body any, leaves session.Payload, run func(by session.Origin) error) error {
	by := origin(caller)
	if caller.Key == "" {
		return run(by)
	}
	row, over, err := b.keys.begin(ctx, caller, command, body, func() (string, int64, error) {
		head, err := b.headSeq(ctx, session.Host)
		return session.Host, head, err
	})
	if err != nil {
		return err
	}
	defer over()
	by.Cause = row.Request
	_, done, err := b.find(ctx, session.Host, row.After, func(event store.Event) (bool, error) {
		return event.Cause == row.Request && event.Type == leaves.EventType(), nil
	})
	if done || err != nil {
		return err
	}
	return run(by)
}

func (b pluginService) Trust(ctx context.Context, caller server.Caller, folder protocol.TrustFolder) (protocol.TrustedFolder, error) {
	b.plugins.Ready(ctx, pluginPatience)
	root, err := projectOf("root", folder.Root)
	if err == nil && filepath.Dir(root) == root {
		err = protocol.Errorf(protocol.BadRequest, "root %s is the root of the file system, which is no project; name the folder of one", root)
	}
	if err == nil {
		err = b.plugins.Trust(ctx, origin(caller), root)
	}
	if err != nil {
		return protocol.TrustedFolder{}, pluginError(err)
	}
	trusted := protocol.TrustedFolder{Root: root}
	for _, status := range b.plugins.List() {
		if status.Location == root {
			trusted.Plugins = append(trusted.Plugins, wirePlugin(status))
		}
	}
	return trusted, nil
}

func (b pluginService) Distrust(ctx context.Context, caller server.Caller, folder protocol.TrustFolder) error {
	b.plugins.Ready(ctx, pluginPatience)
	return pluginError(b.plugins.Distrust(ctx, origin(caller), b.ref(protocol.PluginParams{Location: folder.Root}).Location))
}

// Reload goes on to its end when its caller leaves.
func (b pluginService) Reload(ctx context.Context, caller server.Caller) (protocol.PluginList, error) {
	b.plugins.Ready(ctx, pluginPatience)
	if err := b.reconfigure(context.WithoutCancel(ctx), origin(caller)); err != nil {
		return protocol.PluginList{}, pluginError(err)
	}
	return b.List(ctx)
}

// pluginError words what the manager of plugins says.
func pluginError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*protocol.Error](err); ok {
		return wireError(err)
	}
	said := func(prefix error) string {
		return strings.Replace(oneLine(err.Error(), 4000), prefix.Error()+": ", "", 1)
	}
	stage := plugin.FailedStage(err)
	switch {
	case errors.Is(err, wasm.ErrClosed):
		return protocol.Errorf(protocol.Unavailable, "the host is shutting down; send it again when one is back")
	case stage != "":
		wire := protocol.Errorf(protocol.BadRequest, "%s", said(plugin.ErrRefused))
		wire.Details = map[string]any{"stage": stage}
		return wire
	case errors.Is(err, plugin.ErrUnknown):
		return protocol.Errorf(protocol.NotFound, "%s", said(plugin.ErrUnknown))
	case errors.Is(err, plugin.ErrRefused):
		return protocol.Errorf(protocol.Conflict, "%s", said(plugin.ErrRefused))
	}
	return wireError(err)
}
