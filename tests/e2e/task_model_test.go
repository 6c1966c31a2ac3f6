package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/tests/chat"
)

// interrupted is what a model is told of a call whose outcome nobody knows.
const interrupted = "Tool execution interrupted"

// outputPlace stands for the file with the whole of an output, of which the model was
// told.
const outputPlace = "@output"

var (
	prompted   = regexp.MustCompile(`^\[p(\d)\]`)
	stepped    = regexp.MustCompile(`(Step|Look) p(\d)-s(\d\d)\.`)
	summarised = regexp.MustCompile(`Newest step p(\d)-s(\d\d), (settled|in doubt)\.`)
	outputs    = regexp.MustCompile(`/[^\s"]*/tool-output/[^\s")]+`)
)

// performer is the model: it follows the script from what it reads, and remembers
// nothing. So it says the same to the same request, whenever that comes again.
type performer struct {
	script [len(taskPrompts)][]step
}

func placeOf(found []string) place {
	prompt, _ := strconv.Atoi(found[0])
	number, _ := strconv.Atoi(found[1])
	return place{prompt, number}
}

// acts are the calls of a step.
func (p performer) acts(at place) []act { return p.script[at.prompt-1][at.step-1].acts }

// answer is what the model says to a request. One without tools is for a summary.
func (p performer) answer(request chat.Request) chat.Turn {
	if len(request.Tools) == 0 {
		return chat.Turn{Text: p.summarise(request), Deltas: 4}
	}
	return p.read(request.Messages).next(p)
}

// summarise tells how far the conversation is that is condensed.
func (p performer) summarise(request chat.Request) string {
	text := request.Messages[len(request.Messages)-1].Content
	var newest place
	doubt := false
	if found := summarised.FindStringSubmatch(text); found != nil {
		newest, doubt = placeOf(found[1:]), found[3] == "in doubt"
	}
	said := stepped.FindAllStringSubmatchIndex(text, -1)
	for i, at := range said {
		here := placeOf([]string{text[at[4]:at[5]], text[at[6]:at[7]]})
		if here.before(newest) {
			continue
		}
		end := len(text)
		if i+1 < len(said) {
			end = said[i+1][0]
		}
		told := text[at[0]:end]
		results := strings.Count(told, "\n[Result]: ") + strings.Count(told, "\n[Failed]: ")
		broken := strings.Contains(told, interrupted) || strings.HasPrefix(told, "Look") || results < len(p.acts(here))
		doubt, newest = broken || here == newest && doubt, here
	}
	output := ""
	if found := outputs.FindAllString(text, -1); len(found) > 0 {
		output = " The output is in " + found[len(found)-1]
	}
	return fmt.Sprintf("%s. Newest step %s, %s.%s", summary, newest, map[bool]string{false: "settled", true: "in doubt"}[doubt], output)
}

// progress is how far a conversation is.
type progress struct {
	prompt  int // the newest
	at      place
	output  string
	results map[int]string          // what the calls of the step have answered
	doubt   map[int]bool            // its calls of which nobody knows what they did
	found   map[int]map[string]bool // what was seen when it was looked after those
}

func (s *progress) reach(at place) {
	if s.at.before(at) {
		s.at, s.results, s.doubt, s.found = at, map[int]string{}, map[int]bool{}, map[int]map[string]bool{}
	}
}

// read finds out how far a conversation is.
func (p performer) read(messages []chat.Message) *progress {
	s := &progress{}
	for _, message := range messages {
		if found := outputs.FindAllString(message.Content, -1); len(found) > 0 {
			s.output = found[len(found)-1]
		}
		switch message.Role {
		case "user":
			p.user(s, message.Content)
		case "assistant":
			if found := stepped.FindStringSubmatch(message.Content); found != nil {
				s.reach(placeOf(found[2:]))
			}
		case "tool":
			if strings.HasPrefix(message.ToolCallID, "look-"+s.at.String()) {
				s.seen(p, message.Content)
			} else {
				s.settle(message.ToolCallID, message.Content)
			}
		}
	}
	return s
}

// user reads a prompt or a summary.
func (p performer) user(s *progress, text string) {
	if found := prompted.FindStringSubmatch(text); found != nil {
		s.prompt, _ = strconv.Atoi(found[1])
	}
	found := summarised.FindStringSubmatch(text)
	if found == nil {
		return
	}
	s.reach(placeOf(found[1:]))
	for i := range p.acts(s.at) {
		if found[3] == "in doubt" {
			s.doubt[i] = true
		} else {
			s.results[i] = ""
		}
	}
}

// settle reads what a call of the step answered.
func (s *progress) settle(call, result string) {
	number, _ := strconv.Atoi(call[strings.LastIndex(call, "-")+1:])
	if strings.Contains(result, interrupted) {
		s.doubt[number] = true
		return
	}
	s.results[number] = result
	delete(s.doubt, number)
}

// seen reads what looking for the calls in doubt has shown.
func (s *progress) seen(p performer, result string) {
	if strings.Contains(result, interrupted) {
		return
	}
	for i := range p.acts(s.at) {
		if !s.doubt[i] {
			continue
		}
		delete(s.doubt, i)
		s.found[i] = map[string]bool{}
		for line := range strings.Lines(result) {
			if what, of := strings.CutPrefix(line, fmt.Sprintf("call %d ", i)); of {
				s.found[i][strings.TrimSpace(what)] = true
			}
		}
	}
}

// next is the turn that comes now.
func (s *progress) next(p performer) chat.Turn {
	if s.at == (place{}) {
		s.reach(place{1, 1})
		return s.turn(p)
	}
	acts := p.acts(s.at)
	var conditions []string
	whole := true
	for i, act := range acts {
		result, settled := s.results[i]
		switch {
		case settled && result != "":
			for _, want := range act.wants {
				if !strings.Contains(result, want) {
					return chat.Turn{Text: fmt.Sprintf("Unexpected at %s: no %q in %q.", s.at, want, result)}
				}
			}
		case s.doubt[i] && len(act.parts) > 0:
			conditions = append(conditions, s.look(i, act)...)
		case !settled && !s.done(i, act):
			whole = false
		}
	}
	switch {
	case len(conditions) > 0:
		return chat.Turn{Text: fmt.Sprintf("Look %s. I do not know what became of it.", s.at), Deltas: 2,
			Calls: []chat.ToolCall{called("bash", fmt.Sprintf("look-%s-0", s.at), object{"command": strings.Join(append(conditions, "true"), "; ")})}}
	case !whole:
	case s.at.step < len(p.script[s.at.prompt-1]):
		s.reach(place{s.at.prompt, s.at.step + 1})
	case s.at.prompt < s.prompt:
		s.reach(place{s.at.prompt + 1, 1})
	}
	return s.turn(p)
}

// done reports whether looking has shown that there is nothing left of a call. Of a
// command only that it ran: what it said is read by running what has no effect again.
func (s *progress) done(i int, act act) bool {
	for n := range act.parts {
		if act.tool == "bash" || !s.found[i][fmt.Sprintf("part %d", n)] {
			return false
		}
	}
	return len(act.parts) > 0
}

// look are the commands that show what a call has done.
func (s *progress) look(i int, act act) (commands []string) {
	for n, part := range act.parts {
		seen := part.seen
		if act.tool == "bash" {
			seen = fmt.Sprintf("grep -sqx %s-%d %s", s.at, i, journal)
		}
		commands = append(commands, fmt.Sprintf("%s && echo 'call %d part %d'", seen, i, n))
		if part.left != "" {
			commands = append(commands, fmt.Sprintf("%s && echo 'call %d left %d'", part.left, i, n))
		}
	}
	return commands
}

// turn makes the calls of the step that are not made or not done.
func (s *progress) turn(p performer) chat.Turn {
	step := p.script[s.at.prompt-1][s.at.step-1]
	turn := chat.Turn{Text: fmt.Sprintf("Step %s. %s", s.at, step.says), Deltas: 2}
	if step.acts == nil {
		turn.Text = fmt.Sprintf("Step %s. Done p%d: %s", s.at, s.at.prompt, step.says)
	}
	for i, act := range step.acts {
		if _, settled := s.results[i]; !settled && !s.done(i, act) {
			turn.Calls = append(turn.Calls, called(act.tool, fmt.Sprintf("call-%s-%d", s.at, i), s.input(i, act)))
		}
	}
	return turn
}

// input is what a call is given, without what it has done already.
func (s *progress) input(i int, act act) object {
	switch {
	case act.tool == "bash" && !s.found[i]["part 0"]:
		return object{"command": fmt.Sprintf("echo %s-%d >> %s && %s", s.at, i, journal, act.input["command"])}
	case act.tool == "apply_patch" && len(act.parts) > 0:
		text := "*** Begin Patch\n"
		for n, part := range act.parts {
			switch {
			case s.found[i][fmt.Sprintf("left %d", n)]:
				text += part.finish + "\n"
			case !s.found[i][fmt.Sprintf("part %d", n)]:
				text += part.section + "\n"
			}
		}
		return object{"patch": text + "*** End Patch"}
	case act.input["path"] == outputPlace:
		return object{"path": s.output, "offset": act.input["offset"], "limit": act.input["limit"]}
	}
	return act.input
}

func called(tool, id string, input object) chat.ToolCall {
	arguments, _ := json.Marshal(input)
	return chat.ToolCall{ID: id, Name: tool, Arguments: string(arguments)}
}
