package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHistoryDoors: what the commands about histories refuse, with the exit code and
// what they say of it. Nothing is changed by any of them.
func TestHistoryDoors(t *testing.T) {
	t.Parallel()
	a := newAnnals(t, "")
	id := a.host.session(a.world)
	a.say(id, "Hello.")
	message := a.message(id, "Hello.")
	a.write("there", "taken")
	a.write("full/file", "taken")
	a.write("empty/.keep", "")
	a.write("odd.ndjson", "{}\n")
	a.done("backup", filepath.Join(a.folder, "backup"))
	before := a.events(id)
	none := "ses_0123456789abcdefAAAAAAAAAAAAAA"
	for _, c := range []struct {
		line string
		code int
		says string
	}{
		{"sessions show", 2, "accepts 1 arg(s), received 0"},
		{"sessions show no-such", 1, `there is no session "no-such"`},
		{"sessions show " + none, 1, "not_found"},
		{"sessions rename ID", 2, "accepts 2 arg(s), received 1"},
		{"sessions rename ID _", 2, "title is empty"},
		{"sessions rename ID " + strings.Repeat("x", 201), 2, "title has 201 characters"},
		{"sessions archive no-such", 1, "there is no session"},
		{"sessions retention ID none", 2, `retention.keep is "none"`},
		{"sessions retention ID days", 2, "write all, compaction, or days and their number"},
		{"sessions retention ID days 0", 2, "retention.days is 0"},
		{"sessions retention ID all 3", 2, "write all, compaction, or days and their number"},
		{"sessions fork no-such", 1, "there is no session"},
		{"sessions fork ID --message msg_x", 1, "message msg_x: not found"},
		{"sessions fork ID --title " + strings.Repeat("x", 201), 2, "title has 201 characters"},
		{"sessions fork ID --dir /nowhere", 2, "/nowhere"},
		{"sessions prune no-such", 1, "there is no session"},
		{"sessions remove ID", 2, "a removal cannot be undone; give --yes"},
		{"sessions remove no-such --yes", 1, "there is no session"},
		{"sessions remove " + none + " --yes", 1, "not_found"},
		{"sessions shell no-such -- true", 1, "there is no session"},
		{"sessions compact no-such", 1, "there is no session"},
		{"sessions compact " + none + " --wait", 1, "not_found"},
		{"sessions compact", 2, "accepts 1 arg(s), received 0"},
		{"sessions context no-such", 1, "there is no session"},
		{"sessions changes no-such", 1, "there is no session"},
		{"sessions changes ID --message msg_x", 1, "msg_x"},
		{"sessions changes ID --path nothing", 1, "nothing is none of the files that changed"},
		{"sessions revert ID", 2, "no message; give the first that is to go"},
		{"sessions revert ID msg_x", 1, "msg_x"},
		{"sessions revert ID --clear --commit", 2, "exclude each other"},
		{"sessions revert ID MESSAGE --clear", 2, "give neither a message nor --no-files"},
		{"sessions revert ID --clear", 1, "has no revert staged; stage one first"},
		{"sessions revert ID --commit", 1, "has no revert staged; stage one first"},
		{"sessions revert no-such MESSAGE", 1, "there is no session"},
		{"sessions export no-such", 1, "there is no session"},
		{"sessions export ID -o FOLDER/there", 2, "there is there already"},
		{"sessions export ID -o FOLDER/no/where", 2, "no such file or directory"},
		{"sessions share ID --format pdf", 2, `--format is "pdf"; it must be html, markdown or json`},
		{"sessions share no-such", 1, "there is no session"},
		{"sessions import FOLDER/none", 2, "no such file"},
		{"sessions import FOLDER/odd.ndjson", 2, "the session file has no end: it was cut off; export the session again"},
		{"backup", 2, "accepts 1 arg(s), received 0"},
		{"backup FOLDER/full", 2, "has files already"},
		{"backup FOLDER/data/plinth/backup", 2, "in the data folder itself"},
		{"restore FOLDER/full --data FOLDER/new", 1, "has no manifest.json"},
		{"restore FOLDER/backup", 1, "stop that process, or give this one another data folder"},
		{"restore FOLDER/backup --data FOLDER/full", 1, "has files already; move it away first"},
		{"doctor", 1, "stop that process, or give this one another data folder"},
		{"doctor --sample -1 --data FOLDER/new", 2, "--sample is -1; it must be 0 or more"},
		{"doctor --data FOLDER/new", 1, "no store"},
	} {
		line := strings.NewReplacer("MESSAGE", message, "ID", id, "FOLDER", a.folder).Replace(c.line)
		var args []string
		for word := range strings.FieldsSeq(line) {
			args = append(args, strings.TrimPrefix(word, "_"))
		}
		out, notes, code := a.plinth(args...)
		if code != c.code || !strings.Contains(notes, c.says) || out != "" {
			t.Errorf("plinth %s: exit %d, want %d with %q\n%s\n%s", c.line, code, c.code, c.says, out, notes)
		}
		if !strings.HasPrefix(lastLine(notes), "plinth: ") {
			t.Errorf("plinth %s says last %q", c.line, lastLine(notes))
		}
	}
	if after := a.events(id); len(after) != len(before) {
		t.Errorf("%d events were recorded", len(after)-len(before))
	}
	for _, name := range []string{"new", "no"} {
		if _, err := os.Lstat(filepath.Join(a.folder, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	if left := entries(t, filepath.Join(a.folder, "full")); len(left) != 1 {
		t.Errorf("the folder that was full has %v", left)
	}
}
