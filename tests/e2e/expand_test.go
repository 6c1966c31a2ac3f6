package e2e

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plinthhost/plinth/tests/chat"
)

// What a prompt mentions is in the request that a model gets, and what cannot be had is
// told to both.
func TestMentionsReachTheModel(t *testing.T) {
	w := newWorld(t)
	server := w.chat(chat.Turns(chat.Turn{Text: "Seen."}, chat.Turn{Text: "Seen."}))
	w.configure(server, "[references.books]\npath = \""+w.folder+"\"\ndescription = \"all there is\"\n")
	out, notes, code := w.plinth("run", "See @notes.txt#L2, @explore, @books and @gone.txt")
	if code != 0 || !strings.Contains(out, "Seen.") || !strings.Contains(notes, "! @gone.txt could not be used: no such file or directory") {
		t.Fatalf("exit %d\n%s\n%s", code, out, notes)
	}
	sent := server.Requests()[0]
	for _, want := range []string{"See @notes.txt#L2, @explore", "Attached file notes.txt#L2:\n\ntwo\n", "the agent explore", "The user refers to books (all there is)", "@gone.txt could not be used"} {
		if !strings.Contains(sent.LastUser(), want) {
			t.Errorf("the model is not sent %q: %q", want, sent.LastUser())
		}
	}
	if system := sent.Messages[0].Content; !strings.Contains(system, "- books: all there is") {
		t.Errorf("the model is not told of the references: %q", system)
	}
	if _, notes, code = w.plinth("run", "--no-expand", "See @notes.txt and @gone.txt"); code != 0 || strings.Contains(notes, "!") || strings.Contains(server.Requests()[1].LastUser(), "Attached") {
		t.Errorf("exit %d, %q, %q", code, notes, server.Requests()[1].LastUser())
	}
}

// A command's line runs when it is allowed, and only then.
func TestCommandLinesRunUnderTheRules(t *testing.T) {
	for _, c := range []struct {
		effect string
		args   []string
		text   string
		ran    bool
		code   int
	}{
		{"allow", nil, "For you: made\n[end]", true, 0},
		{"deny", nil, "For you: [not run: touch made && echo made]\n[end]", false, 0},
		{"ask", []string{"--allow", "bash"}, "For you: made\n[end]", true, 0},
		{"ask", nil, "For you: [not run: touch made && echo made]\n[end]", false, 4},
	} {
		w := newWorld(t)
		server := w.chat(chat.Turns(chat.Turn{Text: "Good."}))
		w.configure(server, "[commands.make]\ntemplate = \"For $1: !`touch made && echo made`\\n[end]\"\n",
			"[[permissions.rules]]\naction = \"bash\"\nresource = \"touch *\"\neffect = \""+c.effect+"\"\n")
		out, notes, code := w.plinth(append([]string{"run", "--command", "make"}, append(c.args, "you")...)...)
		if code != c.code || !strings.Contains(out, "Good.") {
			t.Errorf("%s %v: exit %d\n%s\n%s", c.effect, c.args, code, out, notes)
			continue
		}
		_, err := os.Stat(filepath.Join(w.project, "made"))
		if ran := err == nil; ran != c.ran || !strings.HasPrefix(server.Requests()[0].LastUser(), c.text) {
			t.Errorf("%s %v: ran %v, the model is sent %q", c.effect, c.args, ran, server.Requests()[0].LastUser())
		}
	}
}

// A command of a person that the host dies under is ended by the next one, and the model
// reads what became of it.
func TestPersonsCommandOverAKill(t *testing.T) {
	w := newWorld(t)
	server := w.chat(chat.Turns(chat.Turn{Text: "Hello."}, chat.Turn{Text: "I see."}))
	w.configure(server)
	host := w.serve()
	if _, notes, code := w.plinth("run", "Hi"); code != 0 {
		t.Fatal(notes)
	}
	list, _, _ := w.plinth("sessions")
	id, _, _ := strings.Cut(list, " ")
	if out, notes, code := w.plinth("sessions", "shell", id, "--", "cat", "notes.txt"); out != "one\ntwo\n" || code != 0 {
		t.Fatalf("exit %d %q %q", code, out, notes)
	}
	begun := filepath.Join(w.project, "begun")
	shell := w.command(nil, "sessions", "shell", id, "echo x > begun; sleep 600")
	pipe, err := shell.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(pipe)
	defer func() {
		for lines.Scan() { // to its end, so that it can be waited for
		}
		if err := shell.Wait(); err == nil {
			t.Error("the command ended well")
		}
	}()
	for deadline := time.Now().Add(30 * time.Second); ; {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the command does not begin")
		}
		w.plinth("sessions")
	}
	host.kill()
	w.serve()
	if out, notes, code := w.plinth("run", "--session", id, "And now?"); code != 0 || !strings.Contains(out, "I see.") {
		t.Fatalf("exit %d\n%s\n%s", code, out, notes)
	}
	var users []string
	for _, message := range server.Requests()[1].Messages {
		if message.Role == "user" {
			users = append(users, message.Content)
		}
	}
	want := []string{"Hi", "Shell command: cat notes.txt\n\none\ntwo\n", "Shell command: echo x > begun; sleep 600\n\n[The host stopped while it ran; what it printed is lost.]", "And now?"}
	if strings.Join(users, "|") != strings.Join(want, "|") {
		t.Errorf("the model is sent %q", users)
	}
}
