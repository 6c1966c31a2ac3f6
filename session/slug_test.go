package session_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/session"
)

// A slug follows from the id; where a session has it already it gets longer.
func TestSlug(t *testing.T) {
	words := regexp.MustCompile(`^[a-z]+-[a-z]+$`)
	longer := regexp.MustCompile(`^[a-z]+-[a-z]+-[0-9a-f]{4}$`)
	ids := session.NewIDs(session.SystemClock{})
	seen := map[string]bool{}
	for range 200 {
		id := ids.New(session.PrefixSession)
		if slug := session.Slug(id, 0); !words.MatchString(slug) || slug != session.Slug(id, 0) || !longer.MatchString(session.Slug(id, 1)) {
			t.Errorf("%s, then %s", slug, session.Slug(id, 1))
		}
		seen[session.Slug(id, 0)] = true
	}
	if len(seen) < 150 {
		t.Errorf("%d slugs of 200 ids", len(seen))
	}
	var slugs []string
	d := newDesk(t, session.SessionOptions{Slug: func(_ string, try int) string { return "same" + strings.Repeat("+", try) }})
	for range 3 {
		slugs = append(slugs, d.session(d.create()).Slug)
	}
	if got := strings.Join(slugs, " "); got != "same same+ same++" {
		t.Errorf("slugs %s", got)
	}
}

func TestKeepingChanges(t *testing.T) {
	d := newDesk(t, session.SessionOptions{})
	id := d.create()
	ctx, by := t.Context(), session.System()
	before := len(d.types(id))
	for range 2 { // the second finds it as it shall be
		if _, err := d.sessions.Rename(ctx, by, id, " A name "); err != nil {
			t.Fatal(err)
		}
		if _, err := d.sessions.Archive(ctx, by, id, true); err != nil {
			t.Fatal(err)
		}
		if _, err := d.sessions.SetRetention(ctx, by, id, session.Retention{Keep: session.RetainDays, Days: 3}); err != nil {
			t.Fatal(err)
		}
	}
	if recorded := len(d.types(id)) - before; recorded != 3 {
		t.Errorf("%d events were recorded", recorded)
	}
	if s := d.session(id); s.Title != "A name" || s.Archived == 0 || *s.Retention != (session.Retention{Keep: session.RetainDays, Days: 3}) {
		t.Errorf("%+v", s)
	}
	if s, err := d.sessions.Archive(ctx, by, id, false); err != nil || s.Archived != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := d.sessions.Rename(ctx, by, id, strings.Repeat("ö", session.MaxTitle)); err != nil {
		t.Error(err)
	}
	for name, title := range map[string]string{"empty": " \n", "long": strings.Repeat("ö", session.MaxTitle+1), "lines": "a\u2028b", "bytes": "a\xff"} {
		if _, err := d.sessions.Rename(ctx, by, id, title); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, retention := range []session.Retention{{}, {Keep: "none"}, {Keep: session.RetainAll, Days: 1}, {Keep: session.RetainDays},
		{Keep: session.RetainDays, Days: session.MaxRetentionDays + 1}} {
		if _, err := d.sessions.SetRetention(ctx, by, id, retention); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("%+v: %v", retention, err)
		}
	}
}
