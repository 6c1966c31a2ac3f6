package egress

import (
	"context"
	"sync"
	"time"
)

// Timeouts bound the phases of a request. Zero fields take the default.
type Timeouts struct {
	Connect   time.Duration // name, connection and TLS handshake, each; 10 s
	FirstByte time.Duration // from the connection to the response's headers; 60 s, of a fetch 30 s
	Idle      time.Duration // between two reads of the body that bring bytes; 120 s, of a fetch 30 s
	Total     time.Duration // of everything; unlimited, of a fetch 120 s
}

// Limits bound what requests may take. Zero fields take the default; where that is
// unlimited there is no such limit, as there is none of Rate, Connections and
// Requests where they are negative. Errors name the limit by the name given here.
type Limits struct {
	RequestBody    int64 // request_body: bytes; 64 MiB, of a fetch 8 MiB
	RequestHeaders int   // request_headers: how many; 64
	RequestBytes   int   // request_header_bytes: names and values together; 32 KiB
	Headers        int   // response_headers: how many lines; 256
	HeaderBytes    int64 // response_header_bytes: 64 KiB
	Body           int64 // response_body: bytes, decompressed, and as they come; 64 MiB, of a fetch 16 MiB
	Rate           int64 // response_rate: bytes a second, over 10 s of waiting; unlimited, of a fetch 64
	Redirects      int   // redirects: of a fetch 5
	Connections    int   // connections: requests open at once to one origin; unlimited, of a fetch 16
	Requests       int   // requests: a minute, redirects included; unlimited, of a fetch 300
	Burst          int   // requests: at once after a pause; 50
}

// rateWindow is how much time spent waiting the rate is measured over.
const rateWindow = 10 * time.Second

// defaults fills what is zero by what is given, and then by what holds for all.
func (t Timeouts) defaults(d Timeouts) Timeouts {
	fill(&t.Connect, d.Connect, 10*time.Second)
	fill(&t.FirstByte, d.FirstByte, 60*time.Second)
	fill(&t.Idle, d.Idle, 120*time.Second)
	fill(&t.Total, d.Total, 0)
	return t
}

func (l Limits) defaults(d Limits) Limits {
	fill(&l.RequestBody, d.RequestBody, 64<<20)
	fill(&l.RequestHeaders, d.RequestHeaders, 64)
	fill(&l.RequestBytes, d.RequestBytes, 32<<10)
	fill(&l.Headers, d.Headers, 256)
	fill(&l.HeaderBytes, d.HeaderBytes, 64<<10)
	fill(&l.Body, d.Body, 64<<20)
	fill(&l.Rate, d.Rate, 0)
	fill(&l.Redirects, d.Redirects, 5)
	fill(&l.Connections, d.Connections, 0)
	fill(&l.Requests, d.Requests, 0)
	fill(&l.Burst, d.Burst, 50)
	return l
}

func fill[T int | int64 | time.Duration](field *T, values ...T) {
	for _, value := range values {
		if *field == 0 {
			*field = value
		}
	}
}

// bucket is a token bucket: so many requests a minute, so many at once.
type bucket struct {
	perMinute, burst int

	mu     sync.Mutex
	tokens float64
	at     time.Time // of the tokens
}

func newBucket(perMinute, burst int) *bucket {
	return &bucket{perMinute: perMinute, burst: burst, tokens: float64(burst), at: time.Now()}
}

// take uses a token, or says when there is one.
func (b *bucket) take() error {
	if b.perMinute <= 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.tokens = min(float64(b.burst), b.tokens+now.Sub(b.at).Minutes()*float64(b.perMinute))
	b.at = now
	if b.tokens < 1 {
		wait := time.Millisecond + time.Duration((1-b.tokens)/float64(b.perMinute)*float64(time.Minute))
		err := limitError(LimitRequests, "more than %d requests a minute (%d at once); the next may go in %v", b.perMinute, b.burst, wait.Round(time.Millisecond))
		err.RetryAfter = wait
		return err
	}
	b.tokens--
	return nil
}

// gate bounds the requests that are open to one origin.
type gate struct {
	limit int

	mu    sync.Mutex
	lanes map[Origin]*lane
}

type lane struct {
	places chan struct{}
	users  int // that hold a place or wait for one
}

// enter takes a place, and waits for one so long. leave gives it back, once.
func (g *gate) enter(ctx context.Context, origin Origin, wait time.Duration) (leave func(), err error) {
	if g.limit <= 0 {
		return func() {}, nil
	}
	l := g.lane(origin)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case l.places <- struct{}{}:
		return sync.OnceFunc(func() { <-l.places; g.drop(origin) }), nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timer.C:
		err = limitError(LimitConnections, "%d requests to %s are open, the limit; none ended within %v", g.limit, origin, wait)
	}
	g.drop(origin)
	return nil, err
}

func (g *gate) lane(origin Origin) *lane {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lanes == nil {
		g.lanes = map[Origin]*lane{}
	}
	l := g.lanes[origin]
	if l == nil {
		l = &lane{places: make(chan struct{}, g.limit)}
		g.lanes[origin] = l
	}
	l.users++
	return l
}

func (g *gate) drop(origin Origin) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l := g.lanes[origin]; l.users == 1 {
		delete(g.lanes, origin)
	} else {
		l.users--
	}
}
