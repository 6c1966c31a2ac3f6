package e2e

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"
)

// pluginKills is how often the host dies while its plugins change; make verify-long
// raises it.
var pluginKills = flag.Int("plugin-kills", 12, "kills while plugins are replaced and removed")

// The host is killed at random instants while plugins are replaced and removed. Each next
// one has what is in the folder serve, and nothing is left in the middle.
func TestPluginsKilled(t *testing.T) {
	t.Parallel()
	g := newGarden(t, "")
	random := rand.New(rand.NewPCG(seedOf(*recoverySeed, t.Name()), 3))
	began := time.Now()
	for _, name := range plants() {
		g.plant(name, "1.0.0", versioned(name, "1.0.0"))
	}
	g.rests()
	g.works()
	took := time.Since(began) / 2
	wait := func(d time.Duration) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		<-timer.C
	}
	midway := 0
	for n := range *pluginKills {
		begun := g.happened()
		for range 1 + random.IntN(4) {
			name := plants()[random.IntN(len(plants()))]
			if _, there := g.planted[name]; there && random.IntN(3) == 0 {
				g.uproot(name)
			} else {
				version := fmt.Sprintf("%d.%d.0", n+2, random.IntN(3))
				g.plant(name, version, versioned(name, version))
			}
			wait(time.Duration(random.Int64N(int64(took)/4 + 1)))
		}
		if n%2 == 0 {
			wait(time.Duration(random.Int64N(int64(took))))
		} else { // with the next event, such as that a version is staged
			g.next(begun, took)
		}
		g.host.kill()
		if g.unsettled() {
			midway++
		}
		if n%10 == 0 { // the tables are what the events come to
			left := &annals{world: g.world}
			left.healthy(left.copied())
		}
		g.host = g.serve()
		g.rests()
		g.works()
	}
	t.Logf("%d of %d hosts died in the middle of something", midway, *pluginKills)
	if *pluginKills >= 10 && midway == 0 {
		t.Error("no host died in the middle of anything")
	}
}

// happened is how many events of plugins there are.
func (g *garden) happened() int {
	g.t.Helper()
	l, err := g.read()
	if err != nil {
		g.t.Fatal(err)
	}
	return len(l.events)
}

// next waits until there are more events than so many, but no longer than most.
func (g *garden) next(than int, most time.Duration) {
	g.t.Helper()
	deadline := time.NewTimer(most)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for g.happened() <= than {
		select {
		case <-tick.C:
		case <-deadline.C:
			return
		}
	}
}

// unsettled reports whether the log of a dead host is behind the folder.
func (g *garden) unsettled() bool {
	g.t.Helper()
	l, err := g.read()
	if err != nil {
		g.t.Fatal(err)
	}
	versions := map[string]string{}
	for _, name := range plants() {
		if p, ok := l.plugins["test/"+name]; ok {
			versions[name] = p.Version
		}
	}
	return len(l.open) > 0 || !maps.Equal(versions, g.planted)
}
