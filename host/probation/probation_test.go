package probation

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func start() time.Time { return time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC) }

var trap = Fault{Kind: "trap", Reason: "unreachable"}

// calls are made one a second; f is a fault of session 1, g of session 2, h of none,
// a dot a good call, | ten minutes of nothing.
func calls(p *Probation, script string) (result Result) {
	now := start()
	sessions := map[rune]string{'f': "ses_1", 'g': "ses_2", 'h': ""}
	for _, c := range script {
		now = now.Add(time.Second)
		switch session, bad := sessions[c]; {
		case c == '|':
			now = now.Add(10 * time.Minute)
			result = p.Check(now)
		case bad:
			result = p.Call(now, session, &trap)
		default:
			result = p.Call(now, "ses_1", nil)
		}
	}
	return result
}

func TestVerdict(t *testing.T) {
	fifty := ""
	for range 50 {
		fifty += "."
	}
	for _, test := range []struct {
		name, script string
		want         Verdict
		faults       int
		sessions     int
	}{
		{"nothing", "", "", 0, 0},
		{"five of two", "ffffg", Failed, 5, 2},
		{"four of two", "fffg", Watching, 4, 2},
		{"five of one", "fffff", Watching, 5, 1},
		{"the other session comes late", "ffffffffffg", Failed, 11, 2},
		{"no session is a session", "ffffh", Failed, 5, 2},
		{"no session is one session", "hhhhhhhh", Watching, 8, 1},
		{"good calls between", "f.f..f...f....g", Failed, 5, 2},
		{"nothing after the failure", "ffffgggg", Failed, 5, 2},
		{"many calls in little time", fifty + "ffffg", Failed, 5, 2},
		{"few calls in much time", "|ffffg", Failed, 5, 2},
		{"both are over", fifty + "|ffffg", Passed, 0, 0},
		{"time first, then calls", "|" + fifty + "ffffg", Passed, 0, 0},
		{"faults before the end", "fffg" + fifty + "|fg", Passed, 4, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := calls(New(Limits{}, start()), test.script)
			if got.Verdict != test.want || got.Faults != test.faults || got.Sessions != test.sessions {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestLast(t *testing.T) {
	p := New(Limits{Faults: 2, Sessions: -1}, start())
	p.Call(start(), "ses_1", &Fault{Kind: "trap"})
	got := p.Call(start().Add(time.Second), "ses_2", &Fault{Kind: "deadline", Reason: "slow"})
	want := Result{Verdict: Failed, Calls: 2, Faults: 2, Sessions: 2,
		Last: Fault{Time: start().Add(time.Second), Session: "ses_2", Kind: "deadline", Reason: "slow"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// call is one of a generated history.
type call struct {
	session string
	fault   bool
	after   time.Duration
}

func histories(sessions int) *rapid.Generator[[]call] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) call {
		return call{
			session: strconv.Itoa(rapid.IntRange(1, sessions).Draw(t, "session")),
			fault:   rapid.Bool().Draw(t, "fault"),
			after:   time.Duration(rapid.Int64Range(-int64(time.Second), int64(time.Minute)).Draw(t, "after")),
		}
	}), 0, 120)
}

func limits(t *rapid.T) Limits {
	return Limits{
		Calls:    rapid.IntRange(0, 60).Draw(t, "calls"),
		Time:     time.Duration(rapid.Int64Range(0, int64(20*time.Minute)).Draw(t, "time")),
		Faults:   rapid.IntRange(0, 8).Draw(t, "faults"),
		Sessions: rapid.IntRange(0, 4).Draw(t, "sessions"),
	}
}

func (c call) faulty() *Fault {
	if c.fault {
		return &trap
	}
	return nil
}

// TestOneSession: whatever one session does, and whatever the limits, it fails
// nothing.
func TestOneSession(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, now := New(limits(t), start()), start()
		for _, c := range histories(1).Draw(t, "calls") {
			now = now.Add(c.after)
			if got := p.Call(now, c.session, c.faulty()); got.Verdict == Failed {
				t.Fatalf("failed: %+v", got)
			}
		}
	})
}

// TestModel compares with a count over the whole history, across restarts at any
// point, and holds that a final verdict stays.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := limits(t)
		l := given.defaults()
		p, now := New(given, start()), start()
		want, faults, made, last := Watching, 0, 0, Fault{}
		seen := map[string]bool{}
		for _, c := range histories(5).Draw(t, "calls") {
			now = now.Add(c.after)
			over := func() bool { return made >= l.Calls && now.Sub(start()) >= l.Time }
			if want == Watching && over() {
				want = Passed
			}
			if want == Watching {
				made++
				if c.fault {
					faults++
					seen[c.session] = true
					last = Fault{Time: now, Session: c.session, Kind: trap.Kind, Reason: trap.Reason}
				}
				switch {
				case c.fault && faults >= l.Faults && len(seen) >= l.Sessions:
					want = Failed
				case over():
					want = Passed
				}
			}
			got := p.Call(now, c.session, c.faulty())
			expected := Result{Verdict: want, Calls: made, Faults: faults, Sessions: min(len(seen), l.Sessions), Last: last}
			if diff := cmp.Diff(expected, got); diff != "" {
				t.Fatal(diff)
			}
			if rapid.IntRange(0, 3).Draw(t, "restart") == 0 {
				p = restarted(t, given, p)
			}
		}
	})
}

func restarted(t *rapid.T, given Limits, p *Probation) *Probation {
	kept, err := json.Marshal(p.State())
	if err != nil {
		t.Fatal(err)
	}
	var state State
	if err := json.Unmarshal(kept, &state); err != nil {
		t.Fatal(err)
	}
	if len(state.Sessions) > given.defaults().Sessions {
		t.Fatalf("it keeps %d sessions", len(state.Sessions))
	}
	return Resume(given, state)
}

// TestRestore: of a history that fails a revision, the faults alone fail it too, and
// of one that does not, they do not.
func TestRestore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := limits(t)
		given.Calls, given.Time = 1000, time.Hour
		p, now := New(given, start()), start()
		var faults []Fault
		for _, c := range histories(3).Draw(t, "calls") {
			now = now.Add(c.after)
			p.Call(now, c.session, c.faulty())
			if c.fault {
				faults = append(faults, Fault{Time: now, Session: c.session, Kind: trap.Kind, Reason: trap.Reason})
			}
		}
		want, got := p.Check(now), Restore(given, start(), faults).Check(now)
		want.Calls, got.Calls = 0, 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}
