package session_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

func (d *office) approvals(root string) []session.Approval {
	d.T.Helper()
	all, err := d.Approvals(d.T.Context(), root)
	if err != nil {
		d.T.Fatal(err)
	}
	return all
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	t.Run("always is kept for the project, before the reply, and never beats a deny", func(t *testing.T) {
		d := newOffice(t, []session.Agent{{Name: "careful", Mode: session.AgentAll, Rules: []session.Rule{{Action: "bash", Resource: "*", Effect: session.Deny}}}}, askBash())
		id, same, other := d.make("/p", ""), d.make("/p", ""), d.make("/q", "")
		done := d.authorise(t.Context(), d.asker(id), bash("ls"))
		request := d.asked(id, 1)[0].Request
		d.reply(request, session.ReplyAlways, "")
		if err := outcomeOf(t, done); err != nil {
			t.Error(err)
		}
		page, err := d.Log.Feed(t.Context(), 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		at := func(eventType string) int {
			return slices.IndexFunc(page.Events, func(e store.Event) bool { return e.Type == eventType })
		}
		saved, replied := at("host.approval.saved"), at("session.permission.replied")
		if saved < 0 || replied < saved || page.Events[saved].Actor != "local:0" || page.Events[saved].Cause != request {
			t.Errorf("saved at %d, replied at %d: %+v", saved, replied, page.Events[saved])
		}
		if err := d.Authorise(t.Context(), d.asker(same), bash("ls")); err != nil {
			t.Errorf("another session of the project: %v", err)
		}
		careful := d.asker(same)
		careful.Agent = "careful"
		refusal(t, d.Authorise(t.Context(), careful, bash("ls")))
		for name, c := range map[string]struct{ session, plugin string }{"another project": {other, ""}, "another plugin": {same, "acme/x"}} {
			got, err := d.Effects(t.Context(), d.asker(c.session), c.plugin, "bash", []string{"ls"})
			if err != nil || got[0] != session.Ask {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}
	})
	t.Run("always allows what waits and is allowed by it now", func(t *testing.T) {
		d := newOffice(t, []session.Agent{{Name: "careful", Mode: session.AgentAll, Rules: []session.Rule{{Action: "bash", Resource: "*", Effect: session.Deny}}}}, askBash())
		id, same, other := d.make("/p", ""), d.make("/p", ""), d.make("/q", "")
		first := d.authorise(t.Context(), d.asker(id), bash("ls"))
		request := d.asked(id, 1)[0].Request
		waits := map[string]<-chan error{}
		for name, c := range map[string]struct {
			session   string
			plugin    string
			resources []string
		}{
			"same": {same, "", []string{"ls"}}, "more": {same, "", []string{"ls", "cp"}}, "plugin": {same, "acme/x", []string{"ls"}}, "other": {other, "", []string{"ls"}},
		} {
			ask := bash(c.resources...)
			ask.Plugin = c.plugin
			waits[name] = d.authorise(t.Context(), d.asker(c.session), ask)
		}
		d.asked(same, 3)
		d.asked(other, 1)
		// Asked before the agent's rules came to deny it.
		d.append(same, session.PermissionAsked{Request: "per_denied", Agent: "careful", Ask: bash("ls")})
		d.reply(request, session.ReplyAlways, "")
		for name, wait := range map[string]<-chan error{"first": first, "same": waits["same"]} {
			if err := outcomeOf(t, wait); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		open := d.asked("", 0)
		if len(open) != 4 {
			t.Errorf("open %+v", open)
		}
		page, err := d.Log.Read(t.Context(), same, 4, 10)
		if err != nil || len(page.Events) != 1 || page.Events[0].Cause != request || page.Events[0].Actor != "system" {
			t.Errorf("allowed because of the first: %+v, %v", page.Events, err)
		}
		if woken := d.woken(); len(woken) != 2 {
			t.Errorf("woken %q", woken)
		}
		for _, request := range open {
			d.reply(request.Request, session.ReplyOnce, "")
		}
	})
}

func nothingToSave(t *testing.T) {
	// The reference's callers say what is saved; here the host computes it.
	d := newOffice(t, nil, askBash())
	id := d.make("/p", "")
	for n, want := range []session.Reply{session.ReplyAlways, session.ReplyOnce} {
		done := d.authorise(t.Context(), d.asker(id), session.PermissionRequest{Action: "bash", Resources: []string{"ls *"}, Save: session.Savable("ls *")})
		d.reply(d.asked(id, n+1)[0].Request, want, "")
		if err := outcomeOf(t, done); err != nil {
			t.Error(err)
		}
	}
	if saved := d.approvals(""); len(saved) != 0 {
		t.Errorf("saved %+v", saved)
	}
}

func savedApprovals(t *testing.T) {
	d := newOffice(t, nil, askBash())
	one, two := d.make("/p", ""), d.make("/q", "")
	for n, c := range []struct{ session, resource string }{{one, "ls"}, {two, "ls"}, {one, "cp"}} {
		d.append(c.session, session.PermissionAsked{Request: "per_" + string(rune('a'+n)), Agent: "build", Ask: bash(c.resource)})
		d.reply("per_"+string(rune('a'+n)), session.ReplyAlways, "")
	}
	// The rules ask again after a restart with others; the approval is there already.
	d.append(one, session.PermissionAsked{Request: "per_again", Agent: "build", Ask: bash("ls")})
	d.reply("per_again", session.ReplyAlways, "")
	if got := d.events(session.Host, session.ApprovalSaved{}); len(got) != 3 {
		t.Errorf("saved %q", got)
	}
	all, of := d.approvals(""), d.approvals("/p")
	if len(all) != 3 || len(of) != 2 || of[0].Root != "/p" || of[0].ID == of[1].ID || of[0].Saved == 0 {
		t.Fatalf("all %+v, of the project %+v", all, of)
	}
	remove := of[slices.IndexFunc(of, func(a session.Approval) bool { return a.Resource == "ls" })]
	if err := d.RemoveApproval(t.Context(), session.Origin{Actor: "local:0"}, remove.ID); err != nil {
		t.Fatal(err)
	}
	if err := d.RemoveApproval(t.Context(), session.System(), remove.ID); !errors.Is(err, session.ErrNotFound) || err.Error() != "approval "+remove.ID+": not found" {
		t.Errorf("removed twice: %v", err)
	}
	if left := d.approvals("/p"); len(left) != 1 || left[0].Resource != "cp" || len(d.approvals("")) != 2 {
		t.Errorf("left %+v", left)
	}
	got, err := d.Effects(t.Context(), d.asker(one), "", "bash", []string{"ls", "cp"})
	if err != nil || !slices.Equal(got, []session.Effect{session.Ask, session.Allow}) {
		t.Errorf("effects %v, %v", got, err)
	}
	d.append(one, session.PermissionAsked{Request: "per_new", Agent: "build", Ask: bash("ls")})
	d.reply("per_new", session.ReplyAlways, "")
	if !slices.ContainsFunc(d.approvals("/p"), func(a session.Approval) bool { return a.ID == remove.ID }) {
		t.Error("given again, the approval has another id")
	}
}
