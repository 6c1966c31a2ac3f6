package mcp

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plinthhost/plinth/host/secret"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// Hub keeps the connections to all servers. It is safe for use by several goroutines.
type Hub struct {
	options Options
	ctx     context.Context // until Close
	end     context.CancelFunc
	work    sync.WaitGroup

	publishing sync.Mutex
	published  map[string][]byte // fingerprints of what is in the registries
	indexless  bool              // nothing searches servers, and that is known outside

	mu         sync.Mutex
	configured []Server
	servers    map[string]*server // that run
	started    time.Time          // zero before Start
	closed     bool
}

// New makes a hub. The caller starts and closes it.
func New(options Options, servers []Server) *Hub {
	if options.Patience == 0 {
		options.Patience = 30 * time.Second
	}
	if options.Pause == 0 {
		options.Pause = time.Second
	}
	h := &Hub{options: options, configured: servers, published: map[string][]byte{}, servers: map[string]*server{}}
	h.ctx, h.end = context.WithCancel(context.Background())
	return h
}

// Start starts the servers in the background. Only the first call does anything.
func (h *Hub) Start() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.started.IsZero() {
		h.started = time.Now()
		h.begin()
	}
}

// begin starts the configured servers that do not run yet. The caller has the lock.
func (h *Hub) begin() {
	for _, config := range h.configured {
		if h.closed || h.servers[config.Name] != nil {
			continue
		}
		s := newServer(h, config)
		h.servers[config.Name] = s
		h.work.Go(s.run)
	}
}

// Configure has these servers in the place of those before. One that is as it was stays
// as it is.
func (h *Hub) Configure(ctx context.Context, servers []Server) error {
	wanted := map[string]Server{}
	for _, config := range servers {
		wanted[config.Name] = config
	}
	h.mu.Lock()
	var gone []string
	for _, config := range h.configured {
		name := config.Name
		after, stays := wanted[name]
		if stays && reflect.DeepEqual(config, after) {
			continue
		}
		if s := h.servers[name]; s != nil {
			s.end()
			delete(h.servers, name)
		}
		if !stays {
			gone = append(gone, name)
		}
	}
	h.configured = servers
	if !h.started.IsZero() {
		h.begin()
	}
	h.mu.Unlock()
	var err error
	h.publishing.Lock()
	for _, name := range gone {
		delete(h.published, name)
		err = errors.Join(err, h.options.Publisher.Leave(ctx, name))
		h.options.Publisher.Failed(name, nil)
	}
	h.publishing.Unlock()
	h.publish()
	for _, s := range h.all() {
		s.look(false) // it may be disabled by now, or enabled
	}
	return err
}

// Look has a server looked at that somebody disabled or enabled; anew starts it again. It
// waits until that has come out, for Startup at most, and reports whether there is a
// server of the name.
func (h *Hub) Look(ctx context.Context, name string, anew bool) bool {
	s := h.server(name)
	if s == nil {
		return false
	}
	live, next := s.look(anew)
	if live && !anew || !h.options.Publisher.Wanted(name) {
		return true
	}
	over := time.NewTimer(Startup)
	defer over.Stop()
	select {
	case <-next:
	case <-over.C:
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
	return true
}

// Ready starts the servers if nobody has, and waits until each was tried once, until ctx
// ends, or until Startup has passed since the start.
func (h *Hub) Ready(ctx context.Context) {
	h.Start()
	over := time.NewTimer(time.Until(h.started.Add(Startup)))
	defer over.Stop()
	for _, s := range h.all() {
		select {
		case <-s.first:
		case <-over.C:
			return
		case <-ctx.Done():
			return
		case <-h.ctx.Done():
			return
		}
	}
}

// Close ends all servers and waits for that. Safe twice. What they contributed stays in
// the registries, for whoever put it there.
func (h *Hub) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end()
	h.work.Wait()
	return nil
}

// server is the one of a name; nil for none.
func (h *Hub) server(name string) *server {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.servers[name]
}

// all are the servers by name.
func (h *Hub) all() []*server {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*server
	for _, s := range h.servers {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *server) int { return strings.Compare(a.config.Name, b.config.Name) })
	return all
}

// shelf is a server with its tools.
type shelf struct {
	*server
	catalog
}

// shelves are the servers that have tools, those first that are described whole: of few
// tools, as long as all together are not too long.
func (h *Hub) shelves() (whole, searched []shelf) {
	left := MaxDescribed
	for _, s := range h.all() {
		known, listed := s.known()
		if !listed || !h.options.Publisher.Wanted(s.config.Name) {
			continue
		}
		one := shelf{s, known}
		most := s.config.Describe
		if most == 0 {
			most = DefaultDescribe
		}
		if weight := known.weight(); len(known.tools) <= most && weight <= left {
			left -= weight
			whole = append(whole, one)
		} else {
			searched = append(searched, one)
		}
	}
	return whole, searched
}

// publish puts what servers offer now into the registries, where that is not there yet.
func (h *Hub) publish() {
	h.publishing.Lock()
	defer h.publishing.Unlock()
	whole, searched := h.shelves()
	for _, one := range whole {
		offer := one.offer()
		for _, tool := range one.tools {
			offer.Contributions = append(offer.Contributions, h.contribute(directTool{h, one.config.Name, tool}))
		}
		offer.Fingerprint = one.fingerprint()
		h.serve(offer)
	}
	for _, one := range searched {
		offer := one.offer()
		offer.Description += ", found by " + findName
		offer.Fingerprint = append([]byte("searched\n"), one.fingerprint()...)
		h.serve(offer)
	}
	h.publishIndex(searched)
}

// publishIndex puts the tools that search servers into the registries while there are
// servers to search. The caller has the publishing.
func (h *Hub) publishIndex(searched []shelf) {
	if len(searched) > 0 {
		find, call := h.search(searched)
		h.serve(Offer{Name: Index, Version: "1", Description: "Finds and calls tools of MCP servers that have many",
			Fingerprint: []byte(find.Definition().Description), Contributions: []registry.Contribution{h.contribute(find), h.contribute(call)}})
		return
	}
	if h.indexless || !h.tried() || h.ctx.Err() != nil {
		return
	}
	h.indexless = true
	delete(h.published, Index)
	if err := h.options.Publisher.Leave(h.ctx, Index); err != nil {
		h.options.Logger.Warn("the search of MCP servers is still there", "error", err)
	}
}

// tried reports whether every server was.
func (h *Hub) tried() bool {
	return !slices.ContainsFunc(h.all(), func(s *server) bool {
		select {
		case <-s.first:
			return false
		default:
			return true
		}
	})
}

func (s shelf) offer() Offer {
	return Offer{Name: s.config.Name, Version: "server " + s.version, Description: "MCP server with " + strconv.Itoa(len(s.tools)) + " tools"}
}

func (h *Hub) contribute(tool session.Tool) registry.Contribution {
	return h.options.Tools.Contribute(tool.Definition().Name, 0, tool)
}

// serve hands on an offer that is new. The caller has the publishing.
func (h *Hub) serve(offer Offer) {
	if offer.Fingerprint == nil {
		offer.Fingerprint = []byte{}
	}
	if before, there := h.published[offer.Name]; there && bytes.Equal(before, offer.Fingerprint) || h.ctx.Err() != nil {
		return
	}
	if err := h.options.Publisher.Serve(h.ctx, offer); err != nil {
		h.options.Logger.Error("the tools of an MCP server cannot be had", "server", offer.Name, "error", err)
		h.options.Publisher.Failed(offer.Name, err)
		return
	}
	h.published[offer.Name] = offer.Fingerprint
	h.indexless = h.indexless && offer.Name != Index
}

// resolve answers a value of the configuration, in the place of its reference.
func (h *Hub) resolve(ctx context.Context, value string) (string, error) {
	if !secret.IsReference(value) {
		return value, nil
	}
	resolved, err := h.options.Secret(ctx, value)
	if err != nil {
		return "", err
	}
	h.options.Scrubber.Add(resolved)
	return resolved.Reveal(), nil
}

func (h *Hub) rejected(reference string, value secret.Value) {
	if h.options.Rejected != nil {
		h.options.Rejected(reference, value)
	}
}

func (h *Hub) scrub(text string) string { return h.options.Scrubber.Scrub(text) }

// told is an error of a server in one line and without secrets.
func (h *Hub) told(err error) error { return errors.New(line(h.scrub(err.Error()), 600)) }
