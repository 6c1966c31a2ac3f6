package server

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/plinthhost/plinth/client/protocol"
)

type eventsInput struct {
	ID          string `path:"id" doc:"The session's id."`
	After       string `query:"after" doc:"The cursor to go on from; the first event when absent."`
	Limit       int    `query:"limit" minimum:"1" maximum:"1000" doc:"Events per page; 100 when absent. Streams ignore it."`
	Accept      string `header:"Accept" doc:"text/event-stream and application/x-ndjson follow what comes."`
	LastEventID string `header:"Last-Event-ID" doc:"The cursor to go on from, as event streams resume; it beats after."`
}

type hostEventsInput struct {
	After       string `query:"after" doc:"The cursor to go on from; the first event when absent."`
	Limit       int    `query:"limit" minimum:"1" maximum:"1000" doc:"Events per page; 100 when absent. Streams ignore it."`
	Accept      string `header:"Accept" doc:"text/event-stream and application/x-ndjson follow what comes."`
	LastEventID string `header:"Last-Event-ID" doc:"The cursor to go on from, as event streams resume; it beats after."`
}

type eventsOutput struct {
	Body func(huma.Context)
}

// eventRoute registers the events of a session and those of the host: a finite page, or
// a stream.
func (s *Server) eventRoute(api huma.API) {
	route(s, api, protocol.ScopeRead, eventsOperation(api, huma.Operation{
		OperationID: "events", Path: "/v1/sessions/{id}/events",
		Summary: "A session's events after a cursor: a page, or a stream that follows",
	}), func(ctx context.Context, in *eventsInput) (*eventsOutput, error) {
		if err := isSession(in.ID); err != nil {
			return nil, err
		}
		return s.eventsOf(ctx, *in)
	})
	route(s, api, protocol.ScopeRead, eventsOperation(api, huma.Operation{
		OperationID: "host-events", Path: "/v1/host/events",
		Summary: "The events of the host, of plugins and approvals, as a session's",
	}), func(ctx context.Context, in *hostEventsInput) (*eventsOutput, error) {
		return s.eventsOf(ctx, eventsInput{ID: protocol.HostEvents, After: in.After, Limit: in.Limit, Accept: in.Accept, LastEventID: in.LastEventID})
	})
}

// eventsOperation adds how events are answered.
func eventsOperation(api huma.API, op huma.Operation) huma.Operation {
	schemas := api.OpenAPI().Components.Schemas
	page := schemas.Schema(reflect.TypeFor[protocol.EventList](), true, "EventList")
	event := schemas.Schema(reflect.TypeFor[protocol.Event](), true, "Event")
	op.Method = http.MethodGet
	op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		"application/json": {Schema: page}, string(streamSSE): {Schema: event}, string(streamNDJSON): {Schema: event},
	}}}
	return op
}

// eventsOf answers the events of a session, or the host's.
func (s *Server) eventsOf(ctx context.Context, in eventsInput) (*eventsOutput, error) {
	after := in.After
	if in.LastEventID != "" {
		after = in.LastEventID
	}
	if format := streamFormat(in.Accept); format != "" {
		return s.followEvents(ctx, in.ID, after, format)
	}
	return s.eventPage(ctx, in.ID, after, in.Limit)
}

// Bounds of one page: events by default, and the bytes of data that end it early.
const (
	defaultEvents = 100
	maxPageData   = 4 << 20
)

// eventPage answers one page.
func (s *Server) eventPage(ctx context.Context, session, after string, limit int) (*eventsOutput, error) {
	t, err := s.openTail(ctx, session, after)
	if err != nil {
		return nil, err
	}
	defer t.close()
	if limit == 0 {
		limit = defaultEvents
	}
	list := protocol.EventList{Events: []protocol.Event{}, More: true}
	for size := 0; list.More && len(list.Events) < limit && size < maxPageData; {
		t.limit = min(firstRead, limit-len(list.Events))
		page, err := t.poll(ctx)
		if err != nil {
			return nil, err
		}
		list.Events, list.More = append(list.Events, page.Events...), page.More
		for _, event := range page.Events {
			size += len(event.Data)
		}
	}
	list.Cursor, list.Head = t.cursor, t.place(t.head)
	body, err := protocol.Encode(list)
	if err != nil {
		return nil, err
	}
	return &eventsOutput{Body: func(ctx huma.Context) {
		_, w := humago.Unwrap(ctx)
		w.Header().Set("Content-Type", "application/json")
		w.Write(append(body, '\n')) // the client is gone when this fails
	}}, nil
}
