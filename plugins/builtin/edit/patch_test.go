package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

// I 238: a patch with everything in it, in its order.
func TestPatch(t *testing.T) {
	d := newDesk(t, map[string]string{"a.go": "one\ntwo\nthree\n", "old.txt": "gone\n", "from.sh": "#!/bin/sh\nexit 0\n", "same.bin": "\x00\x01"})
	d.files["from.sh"].Mode = 0o755
	text, out, err := usePatch(t, `*** Add File: deep/new.txt
+first
+
+third
*** Update File: a.go
@@
 one
-two
+2
*** Delete File: old.txt

*** Update File: from.sh
*** Move to: bin/to.sh
@@
-exit 0
+exit 1
*** Update File: same.bin
*** Move to: other.bin
*** Update File: ./a.go
@@
-three
+3
`)
	if err != nil {
		t.Fatal(err)
	}
	want := "Applied the patch:\nA deep/new.txt (+3 -0)\nM a.go (+2 -2)\nD old.txt\nR from.sh -> bin/to.sh (+1 -1)\nR same.bin -> other.bin"
	if text != want {
		t.Errorf("got %s", text)
	}
	files := []patchedFile{{"added", "deep/new.txt", "", 3, 0}, {"modified", "a.go", "", 2, 2}, {"deleted", "old.txt", "", 0, 0},
		{"moved", "from.sh", "bin/to.sh", 1, 1}, {"moved", "same.bin", "other.bin", 0, 0}}
	if !slices.Equal(files, out.Files) {
		t.Errorf("got %+v", out.Files)
	}
	d.holds(t, map[string]string{"deep/new.txt": "first\n\nthird\n", "a.go": "one\n2\n3\n", "bin/to.sh": "#!/bin/sh\nexit 1\n", "other.bin": "\x00\x01"})
	if d.files["bin/to.sh"].Mode != 0o755 {
		t.Error("the mode is lost")
	}
	commits := slices.DeleteFunc(slices.Clone(d.Asked), func(asked string) bool { return !strings.HasPrefix(asked, "fs.commit") })
	if len(commits) != 7 { // 5 files, and where 2 of them go
		t.Errorf("%v", commits)
	}
}

// I 245: where chunks apply.
func TestPatchMatches(t *testing.T) {
	for _, c := range []struct{ name, before, chunks, want, note string }{
		{"exactly", "a\nb\nc\n", "@@\n a\n-b\n+B", "a\nB\nc\n", ""},
		{"without the first @@", "a\nb\n", "-b\n+B", "a\nB\n", ""},
		{"an empty line without its space", "a\n\nb\n", "@@\n a\n\n-b\n+B", "a\n\nB\n", ""},
		{"space at the ends", "a  \nb\t\n", "@@\n a\n-b\n+B", "a  \nB\n", "fits line 1 but for white space"},
		{"indentation; kept lines stay", "\tif x {\n\t\ty()\n\t}\n", "@@\n if x {\n-    y()\n+\t\tz()\n }", "\tif x {\n\t\tz()\n\t}\n", "but for white space"},
		{"typography", "say “yes” – now…\nx\n", "@@\n-say \"yes\" - now...\n+no", "no\nx\n", "but for white space or typography"},
		{"the strictest first", " x\nx\n", "@@\n-x\n+y", " x\ny\n", ""},
		{"behind a line", "f {\n x\n}\ng {\n x\n}\n", "@@ g {\n- x\n+ y", "f {\n x\n}\ng {\n y\n}\n", ""},
		{"behind lines", "class A\n def f\n  x\nclass B\n def f\n  x\n", "@@ class B\n@@  def f\n-  x\n+  y", "class A\n def f\n  x\nclass B\n def f\n  y\n", ""},
		{"the line repeated", "f {\n x\n}\n", "@@ f {\n f {\n- x\n+ y", "f {\n y\n}\n", ""},
		{"line numbers", "a\nb\n", "@@ -40,2 +40,2 @@ func nowhere()\n a\n-b\n+B", "a\nB\n", ""},
		{"one behind the other", "x\nx\nx\n", "@@\n-x\n+1\n@@\n-x\n+2", "1\n2\nx\n", "chunk 1 of f was applied at line 1, but fits line 2 too"},
		{"only additions", "a\n", "@@\n+b\n+c", "a\nb\nc\n", ""},
		{"only additions, behind no end of line", "a", "@@\n+b", "a\nb\n", ""},
		{"only additions, before another chunk", "a\nb\n", "@@\n+z\n@@\n-a\n+A", "A\nb\nz\n", ""},
		{"only additions behind a line", "f {\n}\ng {\n}\n", "@@ f {\n+ x", "f {\n x\n}\ng {\n}\n", ""},
		{"additions to nothing", "", "@@\n+a", "a\n", ""},
		{"the end of the file", "x\ny\nx\n", "@@\n-x\n+z\n*** End of File", "x\ny\nz\n", ""},
		{"not at the end after all", "x\ny\n", "@@\n-x\n+z\n*** End of File", "z\ny\n", ""},
		{"an empty line too many", "a\nb\n", "@@\n-b\n+B\n ", "a\nB\n", ""},
		{"an empty line before the next chunk", "a\nb\nc\n", "@@\n-a\n+A\n\n@@\n-c\n+C", "A\nb\nC\n", ""},
		{"all of it", "a\n", "@@\n-a", "", ""},
		{"no end of line", "a\nb", "@@\n-a\n+A", "A\nb\n", ""},
		{"CRLF", "a\r\nb\r\n", "@@\n a\n-b\n+B\n+C", "a\r\nB\r\nC\r\n", ""},
		{"mixed ends stay", "a\nb\r\nc\n", "@@\n a\n-b\n+B", "a\nB\r\nc\n", ""},
		{"byte-order mark", "\ufeffa\n", "@@\n-a\n+b", "\ufeffb\n", ""},
		{"stars in the text", "*** a\n", "@@\n-*** a\n+*** End Patch", "*** End Patch\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, map[string]string{"f": c.before})
			text, _, err := usePatch(t, "*** Update File: f\n"+c.chunks)
			if err != nil {
				t.Fatal(err)
			}
			d.holds(t, map[string]string{"f": c.want})
			if (c.note != "") != strings.Contains(text, "Note: ") || !strings.Contains(text, c.note) {
				t.Errorf("it says %q, want %q", text, c.note)
			}
		})
	}
}

// I 245: a patch in a here-document, with Windows line ends, in white space.
func TestPatchIsUnwrapped(t *testing.T) {
	const patch = "*** Begin Patch\n*** Add File: f\n+x\n*** End Patch"
	for _, wrapped := range []string{
		patch, "\n  " + patch + "  \n\n", strings.ReplaceAll(patch, "\n", "\r\n"),
		"cat <<'EOF'\n" + patch + "\nEOF\n", "apply_patch <<\"PATCH\"\n" + patch + "\nPATCH", "<<-X\n" + patch + "\nX",
	} {
		d := newDesk(t, nil)
		if _, _, err := use[patchInput, patched](t, "apply_patch", patchInput{wrapped}); err != nil {
			t.Errorf("%q: %v", wrapped, err)
		}
		d.holds(t, map[string]string{"f": "x\n"})
	}
}

func TestPatchIsParsed(t *testing.T) {
	const update = "*** Update File: f\n"
	d := newDesk(t, nil)
	for _, c := range []struct{ body, says string }{
		{"", "the patch is empty: there is no file between"},
		{"hello", `line 2 of the patch: "hello" is not the beginning of a file; that is *** Add File:, *** Update File: or *** Delete File:`},
		{"*** Rename File: x", "is not the beginning of a file"},
		{"*** Add File:", "line 2 of the patch: path is missing"},
		{"*** Add File: f\n+a\nb", `line 4 of the patch: every line of the new file f begins with +, "b" does not`},
		{"*** Add File: f\n+a\n\n+b", `line 4 of the patch: every line of the new file f begins with +, "" does not`},
		{"*** Delete File: f\n-x", `line 3 of the patch: "-x" is not the beginning`},
		{"*** Update File: f", "line 2 of the patch: the update of f has no chunk"},
		{update + "@@ x", "line 3 of the patch: there is nothing behind this @@"},
		{update + "@@\n-a\n+b\nc", `line 6 of the patch: "c" begins with neither ' ', - nor +`},
		{update + "@@\n-a\n*** End of File\n+b", `line 6 of the patch: "+b" belongs to no chunk; a chunk begins with @@`},
		{update + "*** Move to: ./f\n@@\n-a", "line 3 of the patch: f cannot be moved to itself"},
		{update + "*** Move to:", "line 3 of the patch: path is missing"},
		{update + "@@\n-a\n*** Move to: g", `is not the beginning of a file`},
		{"*** Add File: f\n+a\n*** Delete File: ./f", "line 4 of the patch: ./f is in it twice"},
		{"*** Delete File: f\n*** Delete File: f", "twice"},
	} {
		_, _, err := usePatch(t, c.body)
		refused(t, err, abi.KindInvalidInput, c.says)
		if !strings.HasSuffix(fmt.Sprint(err), " (nothing was changed)") {
			t.Errorf("%v", err)
		}
	}
	for patch, says := range map[string]string{
		" \n": "patch is missing", "*** Add File: f\n+x\n*** End Patch": "a patch begins with the line *** Begin Patch",
		"*** Begin Patch\n*** Add File: f\n+x": "a patch ends with the line *** End Patch; this one may have been cut off", "*** Begin Patch": "ends with the line",
		"cat <<EOF\n*** Begin Patch\n*** Add File: f\n+x\n*** End Patch": "begins with the line",
	} {
		_, _, err := use[patchInput, patched](t, "apply_patch", patchInput{patch})
		refused(t, err, abi.KindInvalidInput, says)
	}
	d.holds(t, nil)
}

// I 241: everything is worked out before anything is asked or changed.
func TestPatchThatDoesNotFit(t *testing.T) {
	files := map[string]string{"f": "a\nb\nc\n", "nul": "a\x00b\n", "there": "x\n", "big": strings.Repeat("x\n", maxFile/2) + "x"}
	d := newDesk(t, files)
	for _, c := range []struct {
		body string
		kind abi.Kind
		says string
	}{
		{"*** Update File: f\n@@\n-z\n+y", abi.KindInvalidInput, `chunk 1 of f: its lines are not in the file, beginning with "z"; read the file and take its lines as they are (nothing was changed)`},
		{"*** Update File: f\n@@\n a\n-z\n+y", abi.KindInvalidInput, `chunk 1 of f: its lines are not in the file. Line 1 is like it, but line 2 is "b" where the patch has "z" (nothing was changed)`},
		{"*** Update File: f\n@@\n-c\n+C\n@@\n-a\n+A", abi.KindInvalidInput, "chunk 2 of f: its lines are at line 1, before those of the chunk in front of it; chunks come in the order of the file"},
		{"*** Update File: f\n@@ func z()\n-a\n+A", abi.KindInvalidInput, `chunk 1 of f: no line "func z()" is in the file`},
		{"*** Update File: f\n@@\n-b\n+B\n@@ a\n-c\n+C", abi.KindInvalidInput, `chunk 2 of f: no line "a" is in the file behind line 2`},
		{"*** Update File: f\n@@\n a\n b", abi.KindInvalidInput, "the update of f changes nothing"},
		{"*** Update File: none\n@@\n-a\n+b", abi.KindNotFound, "none does not exist; add it with *** Add File: (nothing was changed)"},
		{"*** Update File: nul\n@@\n-a\n+b", abi.KindInvalidInput, "nul is a binary file"},
		{"*** Update File: big\n@@\n-a\n+b", abi.KindLimit, "big has 4194305 bytes"},
		{"*** Delete File: none", abi.KindNotFound, "none: no such file or directory (nothing was changed)"},
		{"*** Update File: f\n*** Move to: there", abi.KindConflict, "there: there is a file already (nothing was changed)"},
		{"*** Add File: there\n+x", abi.KindConflict, "there cannot be added, because it is there already; update it instead (nothing was changed)"},
		{"*** Add File: ../out\n+x", abi.KindDenied, "outside"},
	} {
		_, _, err := usePatch(t, "*** Add File: new\n+x\n"+c.body)
		refused(t, err, c.kind, c.says)
	}
	_, _, err := use[patchInput, patched](t, "apply_patch", patchInput{strings.Repeat("x", maxPatch+1)})
	refused(t, err, abi.KindLimit, "patch has 1048577 bytes; the most is 1048576")
	_, _, err = usePatch(t, strings.Repeat("*** Delete File: f\n", maxSections+1))
	refused(t, err, abi.KindLimit, "the patch has more than 500 files; split it")
	d.holds(t, files)
	var large []string
	for i := range 3 {
		name := fmt.Sprintf("large%d", i)
		d.put(name, strings.Repeat("x\n", 3<<19))
		large = append(large, "*** Update File: "+name+"\n@@\n-x\n+y")
	}
	if _, _, err := usePatch(t, strings.Join(large[:2], "\n")); err != nil {
		t.Error(err)
	}
	d.put("large0", strings.Repeat("x\n", 3<<19))
	d.put("large1", strings.Repeat("x\n", 3<<19))
	_, _, err = usePatch(t, strings.Join(large, "\n"))
	refused(t, err, abi.KindLimit, "the files of the patch have more than 8388608 bytes together; split it")
}

// I 242: what comes up while a person is asked is not written over.
func TestPatchSeesOthers(t *testing.T) {
	d := newDesk(t, map[string]string{"f": "a\n"})
	d.onCommit(func() { d.put("new", "theirs") })
	_, _, err := usePatch(t, "*** Update File: f\n@@\n-a\n+b\n*** Add File: new\n+mine")
	refused(t, err, abi.KindConflict, "new: it is there already (nothing was changed)")
	d.holds(t, map[string]string{"f": "a\n", "new": "theirs"})

	d = newDesk(t, map[string]string{"f": "a\nb\n"})
	d.allow("allow")
	once := true
	d.onCommit(func() {
		if once {
			d.put("f", "a\nB\n")
		}
		once = false
	})
	if _, _, err = usePatch(t, "*** Update File: f\n@@\n-a\n+A"); err != nil {
		t.Error(err)
	}
	d.holds(t, map[string]string{"f": "A\nB\n"})
}

// A commit that stops in the middle is told of file by file.
func TestPatchInPart(t *testing.T) {
	d := newDesk(t, map[string]string{"f": "a\n", "g": "a\n"})
	d.Operations[abi.OpFSCommit] = func(json.RawMessage, []byte) (any, []byte, error) {
		return abi.FSCommitted{Changes: []abi.FSChanged{
			{Path: "new", Outcome: "done"},
			{Path: "f", Outcome: "failed", Error: &abi.Error{Kind: abi.KindLimit, Message: `"f": there is no room for it on the disk`}},
			{Path: "g", To: "h", Outcome: "not_done"},
		}}, nil, nil
	}
	_, _, err := usePatch(t, "*** Add File: new\n+x\n*** Update File: f\n@@\n-a\n+b\n*** Update File: g\n*** Move to: h")
	want := "limit: the patch was applied only in part, and what is done stays:\ndone: A new (+1 -0)\nfailed: M f (+1 -1): \"f\": there is no room for it on the disk\nnot done: R g -> h\n" +
		"Read the files that are not done and patch those alone"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	d.Operations[abi.OpFSCommit] = func(json.RawMessage, []byte) (any, []byte, error) { return abi.FSCommitted{}, nil, nil }
	_, _, err = usePatch(t, "*** Delete File: f")
	refused(t, err, abi.KindFailed, "the host told of 0 changes, asked was for 1")
	_, _, err = useEdit(t, "f", "a", "b", false)
	refused(t, err, abi.KindFailed, "the host told of 0 changes, asked was for 1")
}

// FuzzPatch: whatever a patch says, it is refused with nothing changed, or every kept
// line of the file is still there and the file ends with a line feed.
func FuzzPatch(f *testing.F) {
	for _, seed := range []struct{ patch, content string }{
		{"*** Begin Patch\n*** Update File: f\n@@ a\n b\n-c\n+d\n*** End of File\n*** End Patch", "a\nb\nc\n"},
		{"cat <<'X'\n*** Begin Patch\n*** Add File: g\n+x\n*** Delete File: f\n*** End Patch\nX", "a"},
		{"*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@ -1,2 +1 @@\n a\n\n+\n*** End Patch", "a\r\n\r\n"},
		{"*** Begin Patch\n*** Update File: f\n@@\n+x\n@@\n-a\n*** Update File: f\n@@\n-b\n*** End Patch", "a\nb"},
	} {
		f.Add(seed.patch, seed.content)
	}
	f.Fuzz(func(t *testing.T, patch, content string) {
		if len(patch) > 1<<12 || len(content) > 1<<12 {
			return // longer inputs find nothing else
		}
		d := newDesk(t, map[string]string{"f": content})
		encoded, err := json.Marshal(patchInput{patch})
		if err != nil {
			t.Fatal(err)
		}
		output, err := plinthtest.Call[abi.ToolOutput](t, abi.ExportTool, abi.ToolExecute{Tool: "apply_patch", Input: encoded})
		if err != nil {
			d.holds(t, map[string]string{"f": content})
			return
		}
		var out patched
		if err := json.Unmarshal(output.Structured, &out); err != nil {
			t.Fatal(err)
		}
		for _, file := range out.Files {
			if file.Path != "f" || file.Status == "deleted" || file.Additions+file.Deletions == 0 {
				continue
			}
			name := file.Path
			if file.To != "" {
				name = file.To
			}
			after := fileData(d.files[name])
			if after != "" && !strings.HasSuffix(after, "\n") {
				t.Errorf("%q has no end: %q", patch, after)
			}
			if got, want := countLines(strings.TrimPrefix(after, byteOrderMark)), countLines(strings.TrimPrefix(content, byteOrderMark))+file.Additions-file.Deletions; got != want && got != want-1 {
				t.Errorf("%q made %d lines of %q, want %d: %q", patch, got, content, want, after)
			}
		}
	})
}
