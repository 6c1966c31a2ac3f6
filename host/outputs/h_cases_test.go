package outputs_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/outputs"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// TestCleaningCases are the cases of how long what was kept of large outputs stays.
func TestCleaningCases(t *testing.T) {
	sessiontest.Cases(t, "H", []sessiontest.Case{
		{Number: 218, Text: "Of kept outputs of 8 and 6 days and another program's file of 30 days, cleaning removes the first only.",
			Run: func(t *testing.T) {
				folder := t.TempDir()
				synctest.Test(t, func(t *testing.T) {
					aged(t, folder, outputs.Prefix+"8days", 8*day)
					aged(t, folder, outputs.Prefix+"6days", 6*day)
					aged(t, folder, "unrelated", 30*day)
					files := outputs.New(outputs.Options{Folder: folder})
					files.Start(t.Context())
					synctest.Wait()
					if err := files.Close(); err != nil {
						t.Error(err)
					}
					if diff := cmp.Diff([]string{outputs.Prefix + "6days", "unrelated"}, names(t, folder)); diff != "" {
						t.Errorf("left (-want +got):\n%s", diff)
					}
				})
			}},
	})
}
