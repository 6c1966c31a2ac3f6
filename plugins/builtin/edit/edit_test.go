package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
)

func TestEdit(t *testing.T) {
	mixed := "a\r\nb\nc\r\nb\n"
	long := strings.Repeat("é", 300)
	for _, c := range []struct {
		name, before, old, new string
		all                    bool
		want, text             string
		out                    edited
	}{
		{"in a line", "one\ntwo two\nthree\n", "two t", "2 t", false, "one\n2 two\nthree\n", "Edited f, line 2:\n-two two\n+2 two", edited{"f", 1, 1, 1, "-two two\n+2 two"}},
		{"a whole line away", "one\ntwo\nthree\n", "two\n", "", false, "one\nthree\n", "Edited f, line 2:\n-two", edited{"f", 1, 0, 1, "-two"}},
		{"lines in", "one\nthree", "one\n", "one\ntwo\n", false, "one\ntwo\nthree", "Edited f, line 2:\n+two", edited{"f", 1, 1, 0, "+two"}},
		{"everything", "x", "x", "", false, "", "Edited f, line 1:\n-x", edited{"f", 1, 0, 1, "-x"}},
		{"lines become one", "a\nb\nc\n", "a\nb", "ab", false, "ab\nc\n", "Edited f, line 1:\n-a\n-b\n+ab", edited{"f", 1, 1, 2, "-a\n-b\n+ab"}},
		{"all", "x x\ny\nx\n", "x", "zz", true, "zz zz\ny\nzz\n", "Edited f: 3 replacements, at lines 1 and 3. The first:\n-x x\n+zz zz", edited{"f", 3, 2, 2, "-x x\n+zz zz"}},
		{"CRLF", "a\r\nb\r\nc\r\n", "a\nb", "1\n2", false, "1\r\n2\r\nc\r\n", "Edited f, line 1:\n-a\n-b\n+1\n+2", edited{"f", 1, 2, 2, "-a\n-b\n+1\n+2"}},
		{"CRLF given for LF", "a\nb\n", "a\r\nb", "1\r\n2", false, "1\n2\n", "Edited f, line 1:\n-a\n-b\n+1\n+2", edited{"f", 1, 2, 2, "-a\n-b\n+1\n+2"}},
		{"mixed, the CRLF part", mixed, "a\nb", "a\nB", false, "a\r\nB\nc\r\nb\n", "Edited f, line 2:\n-b\n+B", edited{"f", 1, 1, 1, "-b\n+B"}},
		{"mixed, in kind", mixed, "b\n", "B\n", true, "a\r\nB\nc\r\nB\n", "Edited f: 2 replacements, at lines 2 and 4. The first:\n-b\n+B", edited{"f", 2, 2, 2, "-b\n+B"}},
		{"mixed, by its end", mixed, "\nc", "\nC", false, "a\r\nb\nC\r\nb\n", "Edited f, line 3:\n-c\n+C", edited{"f", 1, 1, 1, "-c\n+C"}},
		{"byte-order mark", "\ufeffa\nb", "\ufeffa", "c", false, "\ufeffc\nb", "Edited f, line 1:\n-a\n+c", edited{"f", 1, 1, 1, "-a\n+c"}},
		{"no UTF-8 beside it", "caf\xe9 x", "x", "y", false, "caf\xe9 y", "Edited f, line 1:\n-caf\ufffd x\n+caf\ufffd y", edited{"f", 1, 1, 1, "-caf\ufffd x\n+caf\ufffd y"}},
		{"much", "x\n", "x", "1\n2\n3\n4\n5\n6\n7\n" + long, false, "1\n2\n3\n4\n5\n6\n7\n" + long + "\n", "Edited f, line 1:\n-x\n+1\n+2\n+3\n+4\n+5\n+6\n+ ... (2 more lines)",
			edited{"f", 1, 8, 1, "-x\n+1\n+2\n+3\n+4\n+5\n+6\n+ ... (2 more lines)"}},
		{"wide", long, "é" + long[:20], "e", true, strings.Repeat("e", 27) + "ééé", "", edited{"f", 27, 1, 1, "-" + long[:480] + "...\n+" + strings.Repeat("e", 27) + "ééé"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, map[string]string{"f": c.before})
			text, out, err := useEdit(t, "f", c.old, c.new, c.all)
			if err != nil || text != c.text && c.text != "" || out != c.out {
				t.Errorf("%v\n got %q %+v\nwant %q %+v", err, text, out, c.text, c.out)
			}
			d.holds(t, map[string]string{"f": c.want})
		})
	}
}

// I 233, I 235: what cannot be meant is refused before the host is asked, and what is
// not found or found too often is told apart, with what helps.
func TestEditRefuses(t *testing.T) {
	d := newDesk(t, map[string]string{
		"a.go": "func a() {\n\treturn  1\n}\n\nfunc b() {\n\treturn 2\n}\nfunc c() {}\n", "nul": "a\x00b", "x": "x\nx\nxx\n", "aaa": "aaa", "big": strings.Repeat("x", maxFile+1), "quotes": "say “yes” – now\n",
		"full": strings.Repeat("y", maxFile-1) + "z",
	})
	for _, c := range []struct {
		path, old, new string
		kind           abi.Kind
		says           string
	}{
		{"a.go", "x", "x", abi.KindInvalidInput, "old_string and new_string are the same"},
		{"a.go", "x\r\ny", "x\ny", abi.KindInvalidInput, "are the same"},
		{"a.go", "", "x", abi.KindInvalidInput, "old_string is empty; to create or replace a whole file use write"},
		{"", "x", "y", abi.KindInvalidInput, "path is missing"},
	} {
		_, _, err := useEdit(t, c.path, c.old, c.new, false)
		refused(t, err, c.kind, c.says)
	}
	if len(d.Asked) != 0 {
		t.Errorf("the host was asked: %v", d.Asked)
	}
	for _, c := range []struct {
		path, old, new string
		kind           abi.Kind
		says           string
	}{
		{"none", "x", "y", abi.KindNotFound, "none does not exist; create it with write"},
		{"nul", "a", "y", abi.KindInvalidInput, "nul is a binary file; only text can be edited"},
		{"big", "x", "y", abi.KindLimit, "big has 4194305 bytes; files of at most 4194304 can be changed here"},
		{"full", "z", "zz", abi.KindLimit, "full would have 4194305 bytes; the most is 4194304"},
		{"x", "x", "y", abi.KindInvalidInput, "old_string is in x 4 times, at lines 1, 2 and 3; add lines around it until it is unique, or set replace_all"},
		{"aaa", "aa", "y", abi.KindInvalidInput, "old_string is in aaa 2 times, at line 1;"},
		{"a.go", "func a() {\n    return  1\n}", "y", abi.KindInvalidInput, "old_string is not in a.go. Lines 1-3 are like it but for white space or typography: line 2 is \"\\treturn  1\" where old_string has \"    return  1\"."},
		{"a.go", "return 1", "y", abi.KindInvalidInput, "Line 2 has it but for white space or typography: it is \"\\treturn  1\" where old_string has \"return 1\"."},
		{"a.go", "func b() {\n\treturn 3\n}\n", "y", abi.KindInvalidInput, "Line 5 is like it, but line 6 is \"\\treturn 2\" where old_string has \"\\treturn 3\"."},
		{"a.go", "func c() {}\nfunc d() {}", "y", abi.KindInvalidInput, "Line 8 is like it, but then the file ends where old_string goes on with \"func d() {}\"."},
		{"a.go", "func z() {", "func b() {", abi.KindInvalidInput, "new_string is in it, at line 5: the edit may have been made before."},
		{"a.go", "nowhere", "y", abi.KindInvalidInput, "old_string is not in a.go. Read the file and copy the lines as they are."},
		{"quotes", "say \"yes\" - now", "y", abi.KindInvalidInput, "Line 1 is like it but for white space or typography"},
	} {
		_, _, err := useEdit(t, c.path, c.old, c.new, false)
		refused(t, err, c.kind, c.says)
	}
	_, _, err := useEdit(t, "big", "x", "y", true)
	refused(t, err, abi.KindLimit, "big has")
	d.put("many", strings.Repeat("x ", maxReplacements+1))
	_, _, err = useEdit(t, "many", "x", "y", true)
	refused(t, err, abi.KindLimit, "old_string is in many more than 100000 times")
	d.put("many", strings.Repeat("x ", maxReplacements))
	if _, out, err := useEdit(t, "many", "x", "y", true); err != nil || out.Replacements != maxReplacements {
		t.Error(out.Replacements, err)
	}
}

// A file that somebody changes while a person is asked is left as it is; one that the
// rules let the tool change is read again, as often as it takes another call to finish.
func TestEditSeesOthers(t *testing.T) {
	for _, effect := range []string{"ask", "allow"} {
		t.Run(effect, func(t *testing.T) {
			d := newDesk(t, map[string]string{"a": "one two"})
			d.allow(effect)
			commits := 0
			d.onCommit(func() {
				if commits++; commits < 3 {
					d.put("a", fmt.Sprintf("one two %d", commits))
				}
			})
			_, _, err := useEdit(t, "a", "one", "1", false)
			if effect == "allow" {
				if err != nil {
					t.Error(err)
				}
				d.holds(t, map[string]string{"a": "1 two 2"})
				return
			}
			refused(t, err, abi.KindConflict, "a changed on disk since it was read; read it again, then repeat the edit if it still fits")
			d.holds(t, map[string]string{"a": "one two 1"})
		})
	}
	d := newDesk(t, map[string]string{"a": "one"})
	d.allow("allow")
	commits := 0
	d.onCommit(func() { commits++; d.put("a", fmt.Sprintf("one %d", commits)) })
	_, _, err := useEdit(t, "a", "one", "1", false)
	refused(t, err, abi.KindConflict, "changed on disk")
	if commits != maxAttempts {
		t.Errorf("%d attempts", commits)
	}
}

// Files are read in ranges of what the host answers at once.
func TestEditReadsTheWholeFile(t *testing.T) {
	content := strings.Repeat("0123456789abcde\n", 3<<16) + "the end"
	d := newDesk(t, map[string]string{"long": content})
	if _, out, err := useEdit(t, "long", "the end", "THE END", false); err != nil || out.Deletions != 1 {
		t.Error(out, err)
	}
	d.holds(t, map[string]string{"long": strings.TrimSuffix(content, "the end") + "THE END"})
}

func TestEditPassesARefusalOn(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "one"})
	d.Refuse = func(operation string, _ abi.Path) error {
		if operation == abi.OpFSCommit {
			return &abi.Error{Kind: abi.KindDenied, Message: "edit on a was declined"}
		}
		return nil
	}
	_, _, err := useEdit(t, "a", "one", "1", false)
	if err == nil || err.Error() != "denied: edit on a was declined" {
		t.Error(err)
	}
}
