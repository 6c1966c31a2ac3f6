package client_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
)

// A revert that is staged marks what goes, and takes it out when it is committed.
func TestTranscriptOfARevert(t *testing.T) {
	t.Parallel()
	var transcript client.Transcript
	seq := int64(-1)
	apply := func(eventType, data string) {
		t.Helper()
		seq++
		if err := transcript.Event(protocol.Event{Session: "ses_1", Seq: seq, Type: eventType, Data: json.RawMessage(data)}); err != nil {
			t.Fatal(err)
		}
	}
	ids := func() (all []string) {
		for _, message := range transcript.Messages {
			all = append(all, message.ID)
		}
		return all
	}
	staged := func(message string, boundary int64) {
		t.Helper()
		apply("session.revert.staged", fmt.Sprintf(`{"revert":{"message":%q,"boundary":%d,"snapshot":"s","target":"t","files":[{"path":"a","additions":1,"deletions":2}]}}`, message, boundary))
	}
	apply("session.created", `{}`)
	for _, id := range []string{"msg_1", "msg_2", "msg_3"} {
		apply("session.prompt.promoted", fmt.Sprintf(`{"message":%q,"prompt":{"text":"x"},"created":1}`, id))
	}
	staged("msg_2", 1)
	want := &protocol.Revert{Message: "msg_2", Boundary: 1, Files: []protocol.FileDiff{{Path: "a", Additions: 1, Deletions: 2}}}
	if diff := cmp.Diff(want, transcript.Revert); diff != "" {
		t.Error(diff)
	}
	apply("session.revert.cleared", `{"snapshot":"s"}`)
	if diff := cmp.Diff([]string{"msg_1", "msg_2", "msg_3"}, ids()); diff != "" || transcript.Revert != nil {
		t.Error(diff, transcript.Revert)
	}
	staged("msg_2", 1)
	apply("session.revert.committed", `{"boundary":1}`)
	if diff := cmp.Diff([]string{"msg_1"}, ids()); diff != "" || transcript.Revert != nil {
		t.Error(diff, transcript.Revert)
	}
	staged("msg_1", -1)
	apply("session.revert.committed", `{"boundary":-1}`)
	if got := ids(); len(got) != 0 {
		t.Error(got)
	}
}
