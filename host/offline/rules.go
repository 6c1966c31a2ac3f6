package offline

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/session"
)

const (
	// maxCount is as far as it counts.
	maxCount = 10_000
	// maxTitle bounds a title, in characters.
	maxTitle = 50
	readTool = "read"
)

// help is the answer to everything that no rule fits.
const help = `I am Plinth's offline provider: fixed rules, no language model, no network. I understand:
- repeat TEXT
- count N
- read FILE (with the tool "read"), also in a sentence: Read go.mod and say which module this is.
- call TOOL {JSON} (any tool of this session)
To talk to a model, configure a provider and choose it with model = "provider/model".`

var (
	// command is a rule's word and the rest.
	command = regexp.MustCompile(`(?is)^\s*(?:please\s+)?(repeat|count|read|call)\b[ \t:]*(.*?)\s*$`)
	// file is the file's name at the start of a sentence, quoted or one word.
	file = regexp.MustCompile("^(?i:(?:the\\s+)?file\\s+)?(?:\"([^\"]+)\"|'([^']+)'|`([^`]+)`|(\\S+))")
	// toolCall is a tool's name and its input.
	toolCall = regexp.MustCompile(`(?s)^([A-Za-z][A-Za-z0-9_-]*)\s*(\{.*\})?$`)
	// module is the line of a go.mod that names it, perhaps behind a line number.
	module = regexp.MustCompile(`(?m)^\s*(?:\d+[:|\t ]\s*)?module\s+(\S+)\s*$`)
)

// answer decides by what the request is for and what was said last.
func answer(request session.ModelRequest) reply {
	asked, results := sinceUser(request.Messages)
	switch request.Purpose {
	case "title":
		return reply{text: title(asked)}
	case "compaction":
		return reply{text: summary(asked)}
	}
	if len(results) > 0 {
		return reply{text: aboutResult(results[len(results)-1])}
	}
	return obey(request, asked)
}

// requested finds what the user asked for in a history that is to be condensed.
var requested = regexp.MustCompile(`(?m)^\[User[^\]]*\]: (.*)$`)

// summary says how often the user asked for something, and the begin of the last time.
func summary(history string) string {
	all := requested.FindAllStringSubmatch(history, -1)
	if len(all) == 0 {
		return "Offline summary. The history begins: " + begin(history)
	}
	return fmt.Sprintf("Offline summary of %d requests. The last one was: %s", len(all), begin(all[len(all)-1][1]))
}

// begin is the begin of a text, of at most 200 characters.
func begin(text string) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), 200)])
}

// sinceUser answers the text of the last user message and the tool results after it.
func sinceUser(messages []session.ModelMessage) (asked string, results []session.ModelPart) {
	for _, message := range messages {
		if message.Role == session.RoleUser {
			asked, results = textOf(message), nil
			continue
		}
		for _, part := range message.Parts {
			if part.Type == session.PartToolResult {
				results = append(results, part)
			}
		}
	}
	return asked, results
}

func textOf(message session.ModelMessage) string {
	var texts []string
	for _, part := range message.Parts {
		if part.Type == session.PartText {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// obey follows the rule that asked begins with.
func obey(request session.ModelRequest, asked string) reply {
	match := command.FindStringSubmatch(asked)
	if match == nil || match[2] == "" {
		return reply{text: help}
	}
	switch rest := match[2]; strings.ToLower(match[1]) {
	case "repeat":
		return reply{text: rest}
	case "count":
		return reply{text: count(rest)}
	case "read":
		input, err := json.Marshal(map[string]string{"path": fileName(rest)})
		if err != nil {
			return reply{text: help}
		}
		return callTool(request, readTool, string(input))
	default:
		return callNamed(request, rest)
	}
}

func count(rest string) string {
	n, err := strconv.Atoi(rest)
	if err != nil || n < 1 || n > maxCount {
		return fmt.Sprintf("I can count to a number from 1 to %d, like: count 10", maxCount)
	}
	numbers := make([]string, n)
	for i := range numbers {
		numbers[i] = strconv.Itoa(i + 1)
	}
	return strings.Join(numbers, " ")
}

// fileName takes the file's name out of the rest of a sentence.
func fileName(rest string) string {
	match := file.FindStringSubmatch(rest)
	if word := match[4]; word != "" {
		return strings.TrimRight(word, ".,;:!?")
	}
	return match[1] + match[2] + match[3]
}

// callNamed makes the call that a person wrote out.
func callNamed(request session.ModelRequest, rest string) reply {
	match := toolCall.FindStringSubmatch(rest)
	if match == nil {
		return reply{text: `A call is written like this: call read {"path": "go.mod"}`}
	}
	input := match[2]
	if input == "" {
		input = "{}"
	}
	if !json.Valid([]byte(input)) {
		return reply{text: "The input of the call is not valid JSON: " + input}
	}
	return callTool(request, match[1], input)
}

func callTool(request session.ModelRequest, name, input string) reply {
	known := slices.ContainsFunc(request.Tools, func(tool session.ToolDefinition) bool { return tool.Name == name })
	switch {
	case !known:
		return reply{text: fmt.Sprintf("I would call the tool %q, but this session has none of that name.", name)}
	case request.ToolChoice == "none":
		return reply{text: fmt.Sprintf("I would call the tool %q, but tools are off for this answer.", name)}
	}
	return reply{call: &call{id: callID(request), name: name, input: input}}
}

// callID differs from turn to turn of a session.
func callID(request session.ModelRequest) string {
	last := ""
	if n := len(request.Messages); n > 0 {
		last = request.Messages[n-1].ID
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", request.Session, last, len(request.Messages)))
	return "call_" + hex.EncodeToString(sum[:8])
}

// aboutResult says what a tool answered.
func aboutResult(result session.ModelPart) string {
	if result.Error {
		return fmt.Sprintf("The tool %s failed: %s", result.Name, result.Text)
	}
	if result.Name != readTool {
		return fmt.Sprintf("The tool %s answered: %s", result.Name, result.Text)
	}
	if match := module.FindStringSubmatch(result.Text); match != nil {
		return fmt.Sprintf("This is the module %s.", match[1])
	}
	lines := strings.Split(strings.TrimRight(result.Text, "\n"), "\n")
	if strings.TrimSpace(result.Text) == "" {
		return "The file is empty."
	}
	first := strings.Join(lines[:min(3, len(lines))], "\n")
	return fmt.Sprintf("I read %s. It begins:\n%s", plural(len(lines), "line"), first)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// title is the first line of what was asked, shortened.
func title(asked string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(asked), "\n")
	if line == "" {
		return "New session"
	}
	if runes := []rune(line); len(runes) > maxTitle {
		return string(runes[:maxTitle-1]) + "…"
	}
	return line
}
