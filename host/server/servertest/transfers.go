package servertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
)

// transfers is server.Transfers: what it exports is one line, or as many as the session
// is told to have, and an import tells how many bytes it took.
type transfers struct{ *Memory }

// BrokenSession is exported in part and then fails.
const BrokenSession = "ses_broken"

func (t transfers) Export(_ context.Context, session string, children bool) (server.Download, error) {
	if session == BrokenSession {
		return func(_ context.Context, to io.Writer) error {
			if _, err := io.WriteString(to, "half\n"); err != nil {
				return err
			}
			return errors.New("the disk is gone")
		}, nil
	}
	if err := t.has(session); err != nil {
		return nil, err
	}
	return func(_ context.Context, to io.Writer) error {
		_, err := fmt.Fprintf(to, "%s children=%v\n", session, children)
		return err
	}, nil
}

func (t transfers) Import(_ context.Context, caller server.Caller, from io.Reader) (protocol.ImportResult, error) {
	count, err := io.Copy(io.Discard, from)
	return protocol.ImportResult{Sessions: []protocol.ImportedSession{{Session: caller.Actor, Events: count}}}, err
}

func (t transfers) Share(_ context.Context, session string, share protocol.ShareSession) (server.Download, error) {
	if err := t.has(session); err != nil {
		return nil, err
	}
	return func(_ context.Context, to io.Writer) error {
		_, err := fmt.Fprintf(to, "%s %s reasoning=%v\n", session, share.Format, share.Reasoning)
		return err
	}, nil
}

func (t transfers) Backup(_ context.Context, backup protocol.CreateBackup) (protocol.Backup, error) {
	return protocol.Backup{Folder: backup.Folder, Created: time.Unix(0, 0).UTC(), Log: "log_memory"}, nil
}

func (t transfers) has(session string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.sessions[session]; !ok {
		return protocol.Errorf(protocol.NotFound, "there is no session %s", session)
	}
	return nil
}
