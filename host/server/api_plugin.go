package server

import (
	"context"
	"mime"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

type pluginInput struct {
	Owner    string `path:"owner" doc:"The first part of the plugin's id."`
	Name     string `path:"name" doc:"The second part of the plugin's id."`
	Location string `query:"location" doc:"A folder of the project that it is of; the global level when absent."`
}

type addPluginInput struct {
	Key      string   `header:"Idempotency-Key" maxLength:"128" doc:"The same key has one effect."`
	Trace    string   `header:"traceparent" doc:"W3C trace context."`
	Mime     string   `header:"Content-Type" doc:"What the body is."`
	Origin   string   `query:"origin" maxLength:"1000" doc:"Of a file: what the sender calls it."`
	Location string   `query:"location" doc:"Of a file: a folder of the project it is for; the global level when absent."`
	Grants   []string `query:"grant,explode" doc:"Of a file: the key of a request that is granted with it; may be repeated. Earlier approvals decide when absent."`
	RawBody  []byte
}

type changePluginInput struct {
	Key      string `header:"Idempotency-Key" maxLength:"128" doc:"The same key has one effect."`
	Trace    string `header:"traceparent" doc:"W3C trace context."`
	Owner    string `path:"owner" doc:"The first part of the plugin's id."`
	Name     string `path:"name" doc:"The second part of the plugin's id."`
	Location string `query:"location" doc:"A folder of the project that it is of; the global level when absent."`
	Body     protocol.ChangePlugin
}

type removePluginInput struct {
	Key      string `header:"Idempotency-Key" maxLength:"128" doc:"The same key has one effect."`
	Trace    string `header:"traceparent" doc:"W3C trace context."`
	Owner    string `path:"owner" doc:"The first part of the plugin's id."`
	Name     string `path:"name" doc:"The second part of the plugin's id."`
	Location string `query:"location" doc:"A folder of the project that it is of; the global level when absent."`
	Purge    bool   `query:"purge" doc:"Its stored values go at once, not after 30 days."`
	Force    int64  `query:"force_ms" minimum:"0" maximum:"86400000" doc:"How long turns may go on with it; to their end when absent."`
}

type trustInput struct {
	Key   string `header:"Idempotency-Key" maxLength:"128" doc:"The same key has one effect."`
	Trace string `header:"traceparent" doc:"W3C trace context."`
	Body  protocol.TrustFolder
}

type distrustInput struct {
	Key   string `header:"Idempotency-Key" maxLength:"128" doc:"The same key has one effect."`
	Trace string `header:"traceparent" doc:"W3C trace context."`
	Root  string `query:"root" required:"true" doc:"A folder of the project."`
}

type reloadInput struct {
	Key   string `header:"Idempotency-Key" maxLength:"128" doc:"The same key has one effect."`
	Trace string `header:"traceparent" doc:"W3C trace context."`
}

// pluginNamed names the plugin of a route.
func pluginNamed(owner, name, location string) protocol.PluginParams {
	return protocol.PluginParams{ID: owner + "/" + name, Location: location}
}

// pluginRoutes registers what tells of the plugins, those that were refused with
// the reason, and what changes them.
func (s *Server) pluginRoutes(api huma.API) {
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "list-plugins", Method: http.MethodGet, Path: protocol.PluginsPath, Summary: "Plugins with their state and last error, and the projects that are trusted",
	}, func(ctx context.Context, _ *noInput) (*answer[protocol.PluginList], error) {
		list, err := s.listPlugins(ctx)
		return &answer[protocol.PluginList]{list}, err
	})
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "get-plugin", Method: http.MethodGet, Path: "/v1/plugins/{owner}/{name}", Summary: "One plugin with all that is known of it",
	}, func(ctx context.Context, in *pluginInput) (*answer[protocol.Plugin], error) {
		plugin, err := s.backend.Plugins.Get(ctx, pluginNamed(in.Owner, in.Name, in.Location))
		return &answer[protocol.Plugin]{plugin}, err
	})
	s.addPluginRoute(api)
	route(s, api, protocol.ScopePlugins, huma.Operation{
		OperationID: "change-plugin", Method: http.MethodPatch, Path: "/v1/plugins/{owner}/{name}", Summary: "Approve a version, roll back, disable, enable, or look again at where it came from",
	}, func(ctx context.Context, in *changePluginInput) (*answer[protocol.Plugin], error) {
		plugin, err := s.changePlugin(ctx, callerOf(ctx, in.Key, in.Trace), pluginNamed(in.Owner, in.Name, in.Location), in.Body)
		return &answer[protocol.Plugin]{plugin}, err
	})
	route(s, api, protocol.ScopePlugins, huma.Operation{
		OperationID: "remove-plugin", Method: http.MethodDelete, Path: "/v1/plugins/{owner}/{name}", Summary: "Remove a plugin; turns that use it go on to their end",
	}, func(ctx context.Context, in *removePluginInput) (*struct{}, error) {
		return nil, s.removePlugin(ctx, callerOf(ctx, in.Key, in.Trace), pluginNamed(in.Owner, in.Name, in.Location), protocol.RemovePlugin{Purge: in.Purge, ForceMS: in.Force})
	})
	s.trustRoutes(api)
	route(s, api, protocol.ScopePlugins, huma.Operation{
		OperationID: "reload-plugins", Method: http.MethodPost, Path: "/v1/plugins/reload", Summary: "Read the configuration of the plugins again",
	}, func(ctx context.Context, in *reloadInput) (*answer[protocol.PluginList], error) {
		list, err := s.backend.Plugins.Reload(ctx, callerOf(ctx, in.Key, in.Trace))
		return &answer[protocol.PluginList]{list}, err
	})
}

// addPluginRoute registers the route that takes a file or the address of one.
func (s *Server) addPluginRoute(api huma.API) {
	content := map[string]*huma.MediaType{
		protocol.MimeWasm:  {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
		"application/json": {Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[protocol.AddPlugin](), true, "AddPlugin")},
	}
	route(s, api, protocol.ScopePlugins, huma.Operation{
		OperationID: "add-plugin", Method: http.MethodPost, Path: protocol.PluginsPath,
		Summary:     "Add a plugin, or another version of one: a packed file, or the address of one",
		RequestBody: &huma.RequestBody{Required: true, Content: content},
	}, func(ctx context.Context, in *addPluginInput) (*answer[protocol.Plugin], error) {
		plugin, err := s.addPlugin(ctx, in)
		return &answer[protocol.Plugin]{plugin}, err
	})
	delete(content, "application/octet-stream") // huma's word for a body of bytes
}

func (s *Server) addPlugin(ctx context.Context, in *addPluginInput) (protocol.Plugin, error) {
	kind, _, _ := mime.ParseMediaType(in.Mime)
	if kind == protocol.MimeWasm {
		return s.backend.Plugins.Upload(ctx, callerOf(ctx, in.Key, in.Trace), PluginUpload{Wasm: in.RawBody, Origin: in.Origin, Location: in.Location, Grants: in.Grants})
	}
	if in.Origin != "" || in.Location != "" || len(in.Grants) > 0 {
		return protocol.Plugin{}, protocol.Errorf(protocol.BadRequest, "origin, location and grant in the query are of a file; say it in the JSON body")
	}
	var request protocol.AddPlugin
	if err := protocol.Decode(in.RawBody, &request); err != nil {
		return protocol.Plugin{}, err
	}
	return s.addFrom(ctx, callerOf(ctx, in.Key, in.Trace), request)
}

// trustRoutes registers what says which projects' plugins may be approved.
func (s *Server) trustRoutes(api huma.API) {
	route(s, api, protocol.ScopePlugins, huma.Operation{
		OperationID: "trust-folder", Method: http.MethodPost, Path: "/v1/plugins/trusted", Summary: "Let the plugins of a project be approved, each version by itself",
	}, func(ctx context.Context, in *trustInput) (*answer[protocol.TrustedFolder], error) {
		folder, err := s.trust(ctx, callerOf(ctx, in.Key, in.Trace), in.Body)
		return &answer[protocol.TrustedFolder]{folder}, err
	})
	route(s, api, protocol.ScopePlugins, huma.Operation{
		OperationID: "distrust-folder", Method: http.MethodDelete, Path: "/v1/plugins/trusted", Summary: "Take that back; the project's plugins are removed",
	}, func(ctx context.Context, in *distrustInput) (*struct{}, error) {
		return nil, s.distrust(ctx, callerOf(ctx, in.Key, in.Trace), protocol.TrustFolder{Root: in.Root})
	})
}

// pluginMethods do what the routes do; a file goes over HTTP alone.
func (s *Server) pluginMethods() map[string]method {
	return map[string]method{
		protocol.MethodPluginsList: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, _ protocol.NoParams) (any, string, string, error) {
			list, err := s.listPlugins(ctx)
			return list, protocol.HostEvents, list.Cursor, err
		}),
		protocol.MethodPluginGet: takes(protocol.ScopeRead, func(ctx context.Context, _ Caller, p protocol.PluginParams) (any, string, string, error) {
			if err := identified(p); err != nil {
				return nil, "", "", err
			}
			plugin, err := s.backend.Plugins.Get(ctx, p)
			return plugin, protocol.HostEvents, plugin.Cursor, err
		}),
		protocol.MethodPluginAdd: takes(protocol.ScopePlugins, func(ctx context.Context, caller Caller, p protocol.AddPlugin) (any, string, string, error) {
			plugin, err := s.addFrom(ctx, caller, p)
			return plugin, protocol.HostEvents, plugin.Cursor, err
		}),
		protocol.MethodPluginChange: takes(protocol.ScopePlugins, func(ctx context.Context, caller Caller, p protocol.ChangePluginParams) (any, string, string, error) {
			plugin, err := s.changePlugin(ctx, caller, p.PluginParams, p.ChangePlugin)
			return plugin, protocol.HostEvents, plugin.Cursor, err
		}),
		protocol.MethodPluginRemove: takes(protocol.ScopePlugins, func(ctx context.Context, caller Caller, p protocol.RemovePluginParams) (any, string, string, error) {
			return struct{}{}, "", "", s.removePlugin(ctx, caller, p.PluginParams, p.RemovePlugin)
		}),
		protocol.MethodPluginsTrust: takes(protocol.ScopePlugins, func(ctx context.Context, caller Caller, p protocol.TrustFolder) (any, string, string, error) {
			folder, err := s.trust(ctx, caller, p)
			return folder, "", "", err
		}),
		protocol.MethodPluginsDistrust: takes(protocol.ScopePlugins, func(ctx context.Context, caller Caller, p protocol.TrustFolder) (any, string, string, error) {
			return struct{}{}, "", "", s.distrust(ctx, caller, p)
		}),
		protocol.MethodPluginsReload: takes(protocol.ScopePlugins, func(ctx context.Context, caller Caller, _ protocol.NoParams) (any, string, string, error) {
			list, err := s.backend.Plugins.Reload(ctx, caller)
			return list, protocol.HostEvents, list.Cursor, err
		}),
	}
}

func (s *Server) listPlugins(ctx context.Context) (protocol.PluginList, error) {
	list, err := s.backend.Plugins.List(ctx)
	if list.Plugins == nil {
		list.Plugins = []protocol.Plugin{}
	}
	return list, err
}

func (s *Server) addFrom(ctx context.Context, caller Caller, request protocol.AddPlugin) (protocol.Plugin, error) {
	if request.URL == "" {
		return protocol.Plugin{}, protocol.Errorf(protocol.BadRequest, "url is missing; give the address of a packed plugin, or send the file itself as %s", protocol.MimeWasm)
	}
	return s.backend.Plugins.Add(ctx, caller, request)
}

// identified refuses what names no plugin, as only a live method can.
func identified(plugin protocol.PluginParams) error {
	if plugin.ID == "" {
		return protocol.Errorf(protocol.BadRequest, "id is missing; give the id of a plugin, OWNER/NAME")
	}
	return nil
}

// changePlugin refuses what does not go with the action.
func (s *Server) changePlugin(ctx context.Context, caller Caller, plugin protocol.PluginParams, change protocol.ChangePlugin) (protocol.Plugin, error) {
	if err := identified(plugin); err != nil {
		return protocol.Plugin{}, err
	}
	actions := []protocol.PluginAction{protocol.ActionApprove, protocol.ActionRollback, protocol.ActionDisable, protocol.ActionEnable, protocol.ActionReload}
	switch {
	case !slices.Contains(actions, change.Action):
		return protocol.Plugin{}, protocol.Errorf(protocol.BadRequest, "action %q is not one of %v", clip(string(change.Action)), actions)
	case change.Action != protocol.ActionApprove && (change.Digest != "" || change.Grants != nil):
		return protocol.Plugin{}, protocol.Errorf(protocol.BadRequest, "digest and grants are of the action approve")
	case change.Action != protocol.ActionRollback && change.Revision != "":
		return protocol.Plugin{}, protocol.Errorf(protocol.BadRequest, "revision is of the action rollback")
	}
	return s.backend.Plugins.Change(ctx, caller, plugin, change)
}

// maxForce is a day, in milliseconds.
const maxForce = 24 * 60 * 60 * 1000

func (s *Server) removePlugin(ctx context.Context, caller Caller, plugin protocol.PluginParams, removal protocol.RemovePlugin) error {
	if err := identified(plugin); err != nil {
		return err
	}
	if removal.ForceMS < 0 || removal.ForceMS > maxForce {
		return protocol.Errorf(protocol.BadRequest, "forceMS must be 0 (turns go on to their end) to %d", maxForce)
	}
	return s.backend.Plugins.Remove(ctx, caller, plugin, removal)
}

func (s *Server) trust(ctx context.Context, caller Caller, folder protocol.TrustFolder) (protocol.TrustedFolder, error) {
	if folder.Root == "" {
		return protocol.TrustedFolder{}, errNoRoot()
	}
	trusted, err := s.backend.Plugins.Trust(ctx, caller, folder)
	if trusted.Plugins == nil {
		trusted.Plugins = []protocol.Plugin{}
	}
	return trusted, err
}

func (s *Server) distrust(ctx context.Context, caller Caller, folder protocol.TrustFolder) error {
	if folder.Root == "" {
		return errNoRoot()
	}
	return s.backend.Plugins.Distrust(ctx, caller, folder)
}

func errNoRoot() error {
	return protocol.Errorf(protocol.BadRequest, "root is missing; give the absolute path of a folder of the project")
}

// isPluginUpload tells a request that brings a packed plugin.
func isPluginUpload(r *http.Request) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return r.Method == http.MethodPost && r.URL.Path == protocol.PluginsPath && kind == protocol.MimeWasm
}
