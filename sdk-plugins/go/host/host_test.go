package host_test

import (
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

func TestOperations(t *testing.T) {
	h := &plinthtest.Host{Roots: map[string]fs.FS{"location": fstest.MapFS{
		"b.txt": {Data: []byte("0123456789")}, "a/x": {}, "c.txt": {},
	}}}
	h.Serve(t)
	info, err := host.Stat(abi.Path{Path: "b.txt"})
	if err != nil || info.Kind != abi.FileRegular || info.Size != 10 || info.Path != "b.txt" {
		t.Errorf("Stat: %+v, %v", info, err)
	}
	listed, err := host.List(abi.FSList{Path: abi.Path{Path: "."}, Offset: 0, Limit: 2})
	if err != nil || len(listed.Entries) != 2 || listed.Entries[0].Name != "a" || listed.Entries[1].Name != "b.txt" || listed.Next != 2 {
		t.Errorf("List: %+v, %v", listed, err)
	}
	file, err := host.Read(abi.FSRead{Path: abi.Path{Path: "b.txt"}, Offset: 4, Length: 3})
	if err != nil || string(file.Data) != "456" || file.EOF || file.Info.Size != 10 {
		t.Errorf("Read: %+v, %v", file, err)
	}
	file, err = host.Read(abi.FSRead{Path: abi.Path{Path: "b.txt"}, Offset: 9})
	if err != nil || string(file.Data) != "9" || !file.EOF {
		t.Errorf("Read: %+v, %v", file, err)
	}
	for path, kind := range map[string]abi.Kind{"none": abi.KindNotFound, "../up": abi.KindDenied} {
		if _, err := host.Stat(abi.Path{Path: path}); plinth.KindOf(err) != kind {
			t.Errorf("%s: %v, want %s", path, err, kind)
		}
	}
	host.Log("warn", "careful")
	host.Progress("half way")
	if want := []string{"warn: careful", "progress: half way"}; !slices.Equal(h.Lines, want) {
		t.Errorf("lines %q", h.Lines)
	}
	if _, _, err := host.Call[abi.None, abi.None]("no.such", abi.None{}); plinth.KindOf(err) != abi.KindUnavailable {
		t.Errorf("an unknown operation: %v", err)
	}
}

func TestAHostThatAnswersNonsense(t *testing.T) {
	for _, answer := range []string{"", "\x02\x00\x00\x00{", "\x02\x00\x00\x00[]", "\x02\x00\x00\x00{}", "\x1c\x00\x00\x00" + `{"ok":{"data":{"$bytes":[0,9]}}}`[:28]} {
		before := guest.SetOperations(func(string, []byte) []byte { return []byte(answer) })
		if _, err := host.Read(abi.FSRead{}); plinth.KindOf(err) != abi.KindFailed {
			t.Errorf("%q: %v", answer, err)
		}
		guest.SetOperations(before)
	}
	out := abi.EncodeMessage([]byte(`{"ok":{"data":{"$bytes":[0,9]}}}`), []byte("short"))
	before := guest.SetOperations(func(string, []byte) []byte { return out })
	t.Cleanup(func() { guest.SetOperations(before) })
	if _, err := host.Read(abi.FSRead{}); plinth.KindOf(err) != abi.KindFailed {
		t.Errorf("bytes beyond the end: %v", err)
	}
}

func TestWithoutAHost(t *testing.T) {
	if _, err := host.Stat(abi.Path{Path: "."}); plinth.KindOf(err) != abi.KindUnavailable {
		t.Errorf("%v", err)
	}
}
