package mistakes

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// page is written from the table, with the messages as authors get them.
const page = "docs/reference/mistakes.md"

const head = `# Mistakes authors make

What Plinth says of each, why, and what to do. A plugin called ` + "`acme/weather`" + ` in the folder ` + "`weather`" + ` stands for yours. The
tests in [tests/mistakes](../../tests/mistakes) make every mistake and read the message; this page is written from their
table by ` + "`go test ./tests/mistakes -update`" + `.

`

const foot = `## Mistakes without a message

Some the host cannot see.

- **Random numbers that repeat.** Every call begins from the memory that the module had after its start, so a generator that was
  seeded by then gives each call the same numbers. Use the SDK's ` + "`random`" + `, or seed within the call. A module without an SDK
  exports ` + "`plinth_reseed`" + `.
- **State that is gone.** What a call leaves in memory is put back before the next one. Keep it with ` + "`kv.set`" + `, or say
  ` + "`mode = \"sticky\"`" + ` in ` + "`[isolation]`" + ` and accept that an instance may end at any time.
- **Threads that wait for later.** A goroutine or a future that still runs when the entry returns never goes on. Finish it within
  the call.
`

// written is the page.
func written(messages map[string]string) string {
	var b strings.Builder
	b.WriteString(head)
	for _, area := range table() {
		fmt.Fprintf(&b, "- [%s](#%s)\n", area.name, anchor(area.name))
	}
	fmt.Fprintf(&b, "- [Mistakes without a message](#mistakes-without-a-message)\n")
	for _, area := range table() {
		fmt.Fprintf(&b, "\n## %s\n", area.name)
		for _, m := range area.mistakes {
			fmt.Fprintf(&b, "\n### %s\n\n```text\n%s\n```\n\n%s\n\n**Do:** %s\n", m.name, messages[m.name], m.why, m.fix)
		}
	}
	return b.String() + "\n" + foot
}

// anchor is how a page's heading is linked to.
func anchor(heading string) string { return strings.ReplaceAll(strings.ToLower(heading), " ", "-") }

// stack is a size that machines differ in.
var stack = regexp.MustCompile(`bytes of stack: \d+`)

// shown is a message as the page has it: a line that repeats stands once.
func shown(message string) string {
	message = stack.ReplaceAllString(message, "bytes of stack: 1324944")
	return strings.Join(slices.Compact(strings.Split(strings.TrimSpace(message), "\n")), "\n")
}

// tell makes every mistake and answers the messages by the mistakes' names.
func tell(t *testing.T) map[string]string {
	messages := map[string]string{}
	for _, area := range table() {
		for _, m := range area.mistakes {
			t.Run(m.name, func(t *testing.T) {
				message := m.make(newAuthor(t))
				rest := message
				for _, say := range m.says {
					_, after, found := strings.Cut(rest, say)
					if !found {
						t.Fatalf("the message does not say %q, or not in its place:\n%s", say, message)
					}
					rest = after
				}
				messages[m.name] = shown(message)
			})
		}
	}
	return messages
}

// Each mistake is told as the table says, and the page shows it.
func TestMistakesAreTold(t *testing.T) {
	messages := tell(t)
	if t.Failed() {
		return
	}
	if len(messages) < 20 {
		t.Errorf("%d mistakes with names of their own", len(messages))
	}
	path := filepath.Join(root, page)
	want := written(messages)
	if flag.Lookup("update").Value.String() == "true" { // sessiontest has it

		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("%s (-) is not what authors are told (+); run: go test ./tests/mistakes -update\n%s", page, diff)
	}
}

// A mistake says what is wrong and what to do, on the page and in its message.
func TestTheTableIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, area := range table() {
		for _, m := range area.mistakes {
			if seen[m.name] || m.name == "" {
				t.Errorf("%q is there twice, or has no name", m.name)
			}
			seen[m.name] = true
			if len(m.says) < 2 || !strings.HasSuffix(m.why, ".") || !strings.HasSuffix(m.fix, ".") {
				t.Errorf("%s: it needs texts of its message, why and fix, as sentences", m.name)
			}
		}
	}
}
