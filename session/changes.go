package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/store"
)

// SummarizeChanges counts what became of the files between two snapshots.
func SummarizeChanges(ctx context.Context, snapshots Snapshots, location Location, from, to string) (Changes, error) {
	files, err := snapshots.Diff(ctx, location, from, to)
	changes := Changes{From: from, To: to, Total: len(files), Files: firstDiffs(files)}
	for _, file := range files {
		changes.Additions += file.Additions
		changes.Deletions += file.Deletions
	}
	return changes, err
}

// Same reports whether both say the same of the files.
func (c Changes) Same(other *Changes) bool {
	return other != nil && c.From == other.From && c.To == other.To && c.Total == other.Total && slices.Equal(c.Files, other.Files)
}

func firstDiffs(files []FileDiff) []FileDiff {
	return files[:min(len(files), MaxFileDiffs)]
}

// FilesChanged answers what became of the files: by the session so far, or, with a
// message, by the steps that answer a user's or are an assistant's. Snapshots are "" when
// nothing is known.
func (s *Sessions) FilesChanged(ctx context.Context, session, message string) (current Session, changes Changes, err error) {
	var steps []Message
	err = s.view(ctx, session, func(tx store.Tx) (err error) {
		if current, err = LoadSession(ctx, tx, session); err != nil || message == "" {
			return err
		}
		steps, err = loadAnswer(ctx, tx, session, message)
		return err
	})
	switch {
	case err != nil:
		return current, changes, err
	case message == "" && current.Changes != nil:
		return current, *current.Changes, nil
	}
	return current, s.changesOf(ctx, current.Location, steps), nil
}

// loadAnswer reads the steps of a message.
func loadAnswer(ctx context.Context, tx store.Tx, session, id string) ([]Message, error) {
	message, err := LoadMessage(ctx, tx, session, id)
	if err != nil {
		return nil, err
	}
	switch message.Type {
	case MessageAssistant:
		return []Message{message}, nil
	case MessageUser:
		next, err := nextPrompt(ctx, tx, session, message.Seq)
		if err != nil {
			return nil, err
		}
		steps, err := LoadSteps(ctx, tx, session, message.Seq)
		return slices.DeleteFunc(steps, func(step Message) bool { return step.Seq >= next }), err
	}
	return nil, fmt.Errorf("%w: message %s is of the type %s; only those of users and assistants change files", ErrInvalid, message.ID, message.Type)
}

// changesOf adds up the steps. A single one says by itself what it changed; of several
// the snapshots are compared, or, where they are not kept any more, their files listed.
func (s *Sessions) changesOf(ctx context.Context, location Location, steps []Message) Changes {
	steps = slices.DeleteFunc(steps, func(step Message) bool { return step.Before == "" || step.After == "" })
	if len(steps) == 0 {
		return Changes{}
	}
	changes := Changes{From: steps[0].Before, To: steps[len(steps)-1].After}
	if len(steps) > 1 && s.options.Snapshots != nil {
		if compared, err := SummarizeChanges(ctx, s.options.Snapshots, location, changes.From, changes.To); err == nil {
			return compared
		}
	}
	byPath := map[string]int{}
	for _, step := range steps {
		for _, file := range step.Files {
			at, known := byPath[file.Path]
			if !known {
				at = len(changes.Files)
				byPath[file.Path] = at
				changes.Files = append(changes.Files, FileDiff{Path: file.Path})
			}
			changes.Files[at].Additions += file.Additions
			changes.Files[at].Deletions += file.Deletions
			changes.Additions += file.Additions
			changes.Deletions += file.Deletions
		}
	}
	slices.SortFunc(changes.Files, func(a, b FileDiff) int { return strings.Compare(a.Path, b.Path) })
	changes.Total, changes.Files = len(changes.Files), firstDiffs(changes.Files)
	return changes
}
