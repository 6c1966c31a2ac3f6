package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
)

// TestABackupThatLacksABlobSaysSo with a host, without one, and when it is restored.
func TestABackupThatLacksABlobSaysSo(t *testing.T) {
	r := newRig(t)
	r.settled(r.session(), "repeat "+strings.Repeat("word ", 8_000))
	blobs, err := filepath.Glob(filepath.Join(r.data, "blobs", "??", "*"))
	if err != nil || len(blobs) == 0 {
		t.Fatal(blobs, err)
	}
	if err := os.Remove(blobs[0]); err != nil {
		t.Fatal(err)
	}
	digest := filepath.Base(filepath.Dir(blobs[0])) + filepath.Base(blobs[0])
	printed, err := r.command("backup", r.place("first"))
	if exitCode(err) != exitFailed || !strings.Contains(err.Error(), "lacks 1 blob of the store and has all the rest") ||
		!strings.Contains(printed, "the blob "+digest+" is missing from the store") || !strings.Contains(printed, r.place("first")+"  ") {
		t.Errorf("%q, %v", printed, err)
	}
	r.stop()
	defer r.start()
	printed, err = r.command("backup", r.place("second"), "--json")
	var made protocol.Backup
	if decoded := json.Unmarshal([]byte(printed), &made); decoded != nil || exitCode(err) != exitFailed || len(made.Missing) != 1 || made.Missing[0] != digest {
		t.Errorf("%q, %v, %v", printed, err, decoded)
	}
	if printed, err := r.command("--data", r.place("restored"), "restore", r.place("second")); err != nil ||
		!strings.Contains(printed, "the blob "+digest+" was missing when the backup was made") {
		t.Errorf("%q, %v", printed, err)
	}
}
