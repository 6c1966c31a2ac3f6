package legacy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// actor is who the events are by.
const actor = "import:v1"

// maker makes the events of one session.
type maker struct {
	storage *Storage
	files   *files

	id, title string
	updated   time.Time
	messages  int
	events    []store.Event
	blobs     map[string][]byte
	order     []string // of the blobs' digests
	// compacted is how the compaction was asked for whose summary comes next.
	compacted session.CompactionReason
}

func (m *maker) session(ctx context.Context, listed Listed) error {
	name := path.Join("session", listed.Project, listed.ID+".json")
	info, err := m.files.session(listed.Project, listed.ID)
	if err != nil {
		return err
	}
	m.id, m.title = newID(session.PrefixSession, info.ID, info.Time.Created), info.Title
	m.updated = time.UnixMilli(max(info.Time.Updated, info.Time.Created)).UTC()
	parent, depth, err := m.storage.parent(info.ID)
	if err != nil {
		return &FileError{File: name, Field: "parentID", Reason: err.Error()}
	}
	messages, err := m.list(info.ID)
	if err != nil {
		return err
	}
	created := session.Created{Title: info.Title, Slug: slug(info.Slug), Agent: session.DefaultAgent, Parent: parent, Depth: depth}
	if created.Location, err = m.location(listed.Project, info.Directory); err != nil {
		return err
	}
	for _, message := range messages {
		if message.Role != "user" {
			continue
		}
		if agent := message.agent(); agent != "" {
			created.Agent = agent
		}
		if message.Model.ModelID != "" {
			created.Model = session.ModelRef{Provider: message.Model.ProviderID, Model: message.Model.ModelID}
		}
	}
	if err := m.append(info.Time.Created, created); err != nil {
		return err
	}
	for _, message := range messages {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := m.message(message); err != nil {
			return err
		}
	}
	return m.rest(info)
}

// slug answers a name without spaces, or none.
func slug(text string) string {
	if len(text) > 64 || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return ""
	}
	return text
}

// list reads the messages in the order they were made.
func (m *maker) list(id string) (all []message, err error) {
	ids, err := m.files.list(path.Join("message", id), ".json", MaxMessages)
	if err != nil {
		return nil, err
	}
	for _, one := range ids {
		read, err := m.files.message(id, one)
		if err != nil {
			return nil, err
		}
		all = append(all, read)
	}
	slices.SortStableFunc(all, func(a, b message) int { return cmp.Compare(a.Time.Created, b.Time.Created) })
	return all, nil
}

func (m *maker) location(projectID, directory string) (session.Location, error) {
	location := session.Location{Directory: path.Clean(directory), Root: path.Clean(directory)}
	var p project
	if _, err := m.files.read(path.Join("project", projectID+".json"), &p); err != nil {
		return location, err
	}
	root := path.Clean(p.Worktree)
	if path.IsAbs(p.Worktree) && root != "/" && (location.Directory == root || strings.HasPrefix(location.Directory, root+"/")) {
		location.Root, location.Git = root, p.VCS == "git"
	}
	return location, nil
}

// rest appends what became of the session as a whole.
func (m *maker) rest(info info) error {
	name := path.Join("session_diff", info.ID+".json")
	var diffs []diff
	if _, err := m.files.read(name, &diffs); err != nil {
		return err
	}
	at := m.updated.UnixMilli()
	if len(diffs) > 0 {
		var changes session.Changes
		for _, one := range diffs {
			if one.Additions < 0 || one.Deletions < 0 {
				return &FileError{File: name, Field: "additions", Reason: "lines cannot be negative"}
			}
			changes.Additions, changes.Deletions = changes.Additions+one.Additions, changes.Deletions+one.Deletions
			changes.Files = append(changes.Files, session.FileDiff{Path: one.File, Additions: one.Additions, Deletions: one.Deletions})
		}
		if err := m.append(at, session.ChangesSummarized{Changes: changes}); err != nil {
			return err
		}
	}
	if info.Time.Archived > 0 {
		return m.append(info.Time.Archived, session.Archived{})
	}
	return nil
}

// append adds an event whose id follows from the session and its place.
func (m *maker) append(at int64, payload session.Payload) error {
	data, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("encode %s: %w", payload.EventType(), err)
	}
	seq := int64(len(m.events))
	m.events = append(m.events, store.Event{ID: newID(session.PrefixEvent, m.id+"/"+strconv.FormatInt(seq, 10), at), Aggregate: m.id, Seq: seq,
		Type: payload.EventType(), Version: 1, Time: time.UnixMilli(at).UTC(), Actor: actor, Data: data})
	return nil
}

// add appends a whole message.
func (m *maker) add(message session.Message) error {
	m.messages++
	return m.append(message.Created, session.MessageImported{Message: message})
}

// keep keeps a file's bytes and answers their digest.
func (m *maker) keep(value []byte) string {
	sum := sha256.Sum256(value)
	digest := hex.EncodeToString(sum[:])
	if _, known := m.blobs[digest]; !known {
		m.blobs[digest], m.order = value, append(m.order, digest)
	}
	return digest
}
