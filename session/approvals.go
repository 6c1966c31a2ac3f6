package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/plinthhost/plinth/store"
)

// Approval is an "always" that a person gave in a project, to the plugin that asked.
type Approval struct {
	// ID is the same for the same approval, also when it was removed and given again.
	ID       string
	Root     string // the project
	Plugin   string // empty for the host and the builtins
	Action   string
	Resource string // a pattern
	Saved    int64  // milliseconds since 1970 UTC
}

// prefixApproval marks the ids of approvals.
const prefixApproval = "apr_"

// Approvals answers the approvals of a project, of all when root is empty, in the
// order they were given.
func (p *Permissions) Approvals(ctx context.Context, root string) (all []Approval, err error) {
	err = p.log.View(ctx, func(tx store.Tx) error {
		rows, err := tx.Query(ctx, `SELECT root, plugin, action, resource, saved_ms FROM approval WHERE root = $1 OR $2 = ''`, root, root)
		all, err = collect(rows, err, scanApproval)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read approvals: %w", err)
	}
	slices.SortFunc(all, func(a, b Approval) int {
		return cmp.Or(cmp.Compare(a.Saved, b.Saved), cmp.Compare(a.Root, b.Root), cmp.Compare(a.Plugin, b.Plugin),
			cmp.Compare(a.Action, b.Action), cmp.Compare(a.Resource, b.Resource))
	})
	return all, nil
}

func scanApproval(row store.Row) (Approval, error) {
	var a Approval
	if err := row.Scan(&a.Root, &a.Plugin, &a.Action, &a.Resource, &a.Saved); err != nil {
		return Approval{}, err
	}
	encoded, err := json.Marshal([]string{a.Root, a.Plugin, a.Action, a.Resource})
	if err != nil {
		return Approval{}, err
	}
	digest := sha256.Sum256(encoded)
	a.ID = prefixApproval + hex.EncodeToString(digest[:16])
	return a, nil
}

// RemoveApproval takes an approval back: what it allowed is asked again. ErrNotFound
// when there is none of that id.
func (p *Permissions) RemoveApproval(ctx context.Context, origin Origin, id string) error {
	all, err := p.Approvals(ctx, "")
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(a Approval) bool { return a.ID == id })
	if at < 0 {
		return fmt.Errorf("approval %s: %w", clip(id), ErrNotFound)
	}
	removed := ApprovalRemoved{Root: all[at].Root, Plugin: all[at].Plugin, Action: all[at].Action, Resource: all[at].Resource}
	if _, err := p.append(ctx, origin, Host, store.Any(), removed); err != nil {
		return fmt.Errorf("remove approval: %w", err)
	}
	return nil
}

// save keeps what an "always" to the request allows and is not kept yet, and answers
// the project.
func (p *Permissions) save(ctx context.Context, origin Origin, asked Permission) (root string, err error) {
	var payloads []Payload
	err = p.log.View(ctx, func(tx store.Tx) error {
		session, err := LoadSession(ctx, tx, asked.Session)
		if err != nil {
			return err
		}
		root = session.Location.Root
		saved, err := loadApprovals(ctx, tx, root, asked.Ask.Plugin)
		for _, resource := range asked.Ask.Save {
			if !slices.Contains(saved, Rule{Action: asked.Ask.Action, Resource: resource, Effect: Allow}) {
				payloads = append(payloads, ApprovalSaved{Root: root, Plugin: asked.Ask.Plugin,
					Action: asked.Ask.Action, Resource: resource, Session: asked.Session, Request: asked.Request})
			}
		}
		return err
	})
	if err != nil || len(payloads) == 0 {
		return root, err
	}
	_, err = p.append(ctx, origin, Host, store.Any(), payloads...)
	return root, err
}
