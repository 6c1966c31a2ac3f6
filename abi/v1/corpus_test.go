package abi

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden corpus")

// corpusFolder holds the golden corpus: a file for each message of the contract, which the
// SDKs decode and encode again to the same bytes.
const corpusFolder = "testdata/corpus"

// example is one message of a file: its JSON as it stands on the wire, and its raw bytes.
type example struct {
	JSON string `json:"json"`
	Raw  []byte `json:"raw,omitempty"`
}

// message is a value with the raw bytes that it refers to.
type message struct {
	value any
	raw   []byte
}

// odd is a text with what encoders treat in different ways.
const odd = "<a href=\"x\">&amp;</a> \u2028\u2029 é 漢字 😀 \\ \" / \b\f\n\r\t\u0001\u001f\u007f \ufffd"

var (
	someJSON  = json.RawMessage(`{"z":1.50,"a":[null,true,"<&>"],"big":123456789012345678901234567890}`)
	session   = Session{ID: "ses_1", Agent: "build"}
	location  = Location{Directory: "/home/ann/" + odd, Root: "/home/ann", Git: true, Platform: "linux", UTCOffset: -210}
	file      = FileInfo{Path: "src/" + odd, Name: odd, Kind: FileRegular, Size: math.MaxInt64, ModifiedMS: 1<<53 + 1}
	blob      = Blob{Digest: strings.Repeat("0a", 32)}
	passed    = FSPassed{Asks: 1, Denied: 2, Unreadable: 3, Partial: true}
	failure   = &Error{Kind: KindConflict, Message: odd}
	meta      = Meta{Plugin: "example/a", Revision: "r1", Trace: "00-1"}
	usage     = Usage{Input: math.MaxInt64, Output: 2, Reasoning: 1, CacheRead: 3, CacheWrite: 4}
	maxTokens = int64(math.MaxInt64)
	seed      = int64(math.MinInt64)
	numbers   = []float64{0, 1, -1.5, 0.1, 1e-6, 9.9e-7, 1e20, 1e21, 1.25e22, math.MaxFloat64, math.SmallestNonzeroFloat64, 12345.678}
)

func call[T any](bodies ...T) (all []message) {
	for _, body := range bodies {
		all = append(all, message{value: Call[T]{DeadlineMS: 10_000, Meta: meta, Body: body}})
	}
	return append(all, message{value: Call[T]{Body: bodies[0]}})
}

func answer[T any](raw []byte, oks ...T) (all []message) {
	for _, ok := range oks {
		all = append(all, message{value: Answer[T]{OK: &ok}, raw: raw})
	}
	for _, kind := range []Kind{KindInvalidInput, KindNotFound, KindDenied, KindUnavailable, KindConflict, KindLimit, KindCancelled, KindTimeout, KindFailed} {
		all = append(all, message{value: Answer[T]{Error: &Error{Kind: kind, Message: odd}}})
	}
	return append(all, message{value: Answer[T]{Error: &Error{Kind: KindFailed}}})
}

func request[T any](raw []byte, values ...T) (all []message) {
	for _, value := range values {
		all = append(all, message{value: value, raw: raw})
	}
	return all
}

// generations has every number in a place of its own.
func generations() (all []Generation) {
	for _, number := range numbers {
		all = append(all, Generation{MaxTokens: &maxTokens, Temperature: &number, TopP: &number, Seed: &seed, Stop: []string{odd, ""}})
	}
	return append(all, Generation{})
}

func messages() []Message {
	return []Message{
		{ID: "m1", Role: RoleUser, Parts: []Part{{ID: "m1/0", Type: PartText, Text: odd}, {Type: PartMedia, Name: odd, Mime: "image/png", Blob: blob.Digest}}},
		{ID: "m2", Role: RoleAssistant, Parts: []Part{
			{ID: "m2/0", Type: PartReasoning, Text: odd, Metadata: someJSON},
			{Type: PartToolCall, Call: "c1", Name: "look", Input: someJSON},
			{Type: PartToolCall, Call: "h1", Name: "search", Input: json.RawMessage(`"text"`), Hosted: true},
			{Type: PartToolResult, Call: "h1", Name: "search", Text: odd, Hosted: true, Result: someJSON},
		}},
		{ID: "m3", Role: RoleTool, Parts: []Part{{Type: PartToolResult, Call: "c1", Name: "look", Text: odd, Error: true}}},
		{ID: "", Role: RoleSystem, Parts: []Part{}},
	}
}

func modelRequests() (all []ModelRequest) {
	tools := []ToolDefinition{{Name: "look", Description: odd, Input: json.RawMessage(`{"type":"object"}`)}}
	for _, generation := range generations() {
		all = append(all, ModelRequest{
			Purpose: "turn", Model: "m/1", System: []TextPart{{ID: "core", Text: odd}}, Messages: messages(), Tools: tools, ToolChoice: "auto",
			Generation: generation, Options: map[string]json.RawMessage{"b": someJSON, "a": json.RawMessage("null"), odd: json.RawMessage("1")}, CacheKey: "k",
		})
	}
	return append(all, ModelRequest{Messages: []Message{}})
}

func encodes() (all []ProviderEncode) {
	for _, asked := range modelRequests() {
		all = append(all, ProviderEncode{Provider: "line", Request: asked})
	}
	return all
}

func events() []ModelEvent {
	return []ModelEvent{
		{Type: EventTextDelta, ID: "t", Text: odd}, {Type: EventTextEnd, ID: "t"},
		{Type: EventReasoningDelta, ID: "r", Text: odd}, {Type: EventReasoningEnd, ID: "r", Metadata: someJSON},
		{Type: EventToolStart, ID: "c", Name: odd}, {Type: EventToolDelta, ID: "c", Text: `{"a":`}, {Type: EventToolEnd, ID: "c", Metadata: someJSON},
		{Type: EventToolStart, ID: "h", Name: "search", Hosted: true},
		{Type: EventToolResult, ID: "h", Text: odd, Metadata: someJSON, Result: someJSON}, {Type: EventToolResult, ID: "h", Text: odd, Failed: true},
		{Type: EventUsage, Usage: &usage}, {Type: EventUsage, Usage: &Usage{}}, {Type: EventFinish, Reason: "stop"},
		{Type: EventError, Error: &ProviderError{Classification: ClassRateLimit, Message: odd, Retryable: true, RetryAfterMS: 1500}},
	}
}

// corpus is every message of the contract by the name of its file.
func corpus() map[string][]message {
	raw := []byte{0, 1, 2, 0xff, '{', '}'}
	run := &Bytes{Offset: 1, Length: 5}
	headers := map[string]string{"b": odd, "a": ""}
	output := ProcessOutput{Head: odd, Tail: odd, Omitted: 1 << 40, Total: 1<<40 + 9, Blob: &blob, Path: "/tmp/" + odd}
	return map[string][]message{
		"plinth_init.call":   call(Init{Config: someJSON, Minor: Minor, Operations: []string{OpLog, OpFSStat}}, Init{}),
		"plinth_init.answer": answer(nil, None{}),
		"plinth_tool_execute.call": call(
			ToolExecute{Tool: "look", Input: someJSON, Call: ToolCall{ID: "c1", Message: "m1"}, Session: session, Location: location},
			ToolExecute{Input: json.RawMessage("null")}),
		"plinth_tool_execute.answer": answer(raw,
			ToolOutput{Content: []Content{{Type: "text", Text: odd}, {Type: "file", Mime: "image/png", Name: odd, Data: run}, {Type: "file", Blob: &blob}},
				Structured: someJSON, Title: odd, Metadata: json.RawMessage("false")},
			ToolOutput{}),
		"plinth_context_observe.call": call(
			ContextObserve{Session: session, Location: location, NowMS: 1<<53 + 1, Model: "a/b", Directories: []string{"", odd}, Previous: map[string]json.RawMessage{"b": someJSON, "a": json.RawMessage(`""`)}},
			ContextObserve{}),
		"plinth_context_observe.answer": answer(nil,
			ContextObserved{Sources: []SourceState{{Key: "a", State: SourceValue, Value: someJSON, Baseline: odd, Update: odd, Removed: odd}, {Key: "b", State: SourceUnavailable}, {Key: "c", State: SourceAbsent}}},
			ContextObserved{Sources: []SourceState{}}),
		"plinth_provider_encode.call": call(encodes()...),
		"plinth_provider_encode.answer": answer(nil,
			ProviderEncoded{Method: "POST", Path: "/v1/" + odd, Query: headers, Headers: headers, Body: someJSON}, ProviderEncoded{Method: "GET"}),
		"plinth_provider_decode.call": call(
			ProviderDecode{Provider: "line", State: someJSON, Frames: []Frame{{Event: "e", Data: odd}, {}}, End: true}, ProviderDecode{Frames: []Frame{}}),
		"plinth_provider_decode.answer":   answer(nil, ProviderDecoded{State: someJSON, Events: events()}, ProviderDecoded{Events: []ModelEvent{}}),
		"plinth_provider_classify.call":   call(ProviderClassify{Provider: "line", Status: 429, Headers: headers, Body: odd}, ProviderClassify{}),
		"plinth_provider_classify.answer": answer(nil, ProviderError{Classification: ClassUnknown, Message: odd, Retryable: true, RetryAfterMS: math.MaxInt64}, ProviderError{}),
		"plinth_transform_apply.call": call(
			TransformApply{Transform: "mask", Purpose: "turn", Agent: "build", System: []TextPart{{ID: "core", Text: odd}}, Messages: messages(),
				Tools: []ToolDefinition{{Name: "look", Description: odd, Input: someJSON}}, Generation: &generations()[3],
				Options: map[string]json.RawMessage{"o": someJSON}, Headers: headers},
			TransformApply{Generation: &Generation{}}, TransformApply{}),
		"plinth_transform_apply.answer": answer(nil,
			TransformEdits{Edits: []Edit{{Part: "system", Op: EditAppend, ID: odd, Value: someJSON}, {Part: "messages", Op: EditReplace, ID: "p"},
				{Part: "tools", Op: EditDrop, ID: "t"}, {Part: "headers", Op: EditSet, ID: "h", Value: json.RawMessage("null")}}},
			TransformEdits{Edits: []Edit{}}),
		"blob_text": request(nil, BlobText{Blob: blob, As: BlobDataURL, Mime: "image/png"}, BlobText{Blob: blob, As: BlobBase64}),

		"batch.request": request(raw, Batch{Operations: []BatchOperation{{Operation: OpFSStat, Request: json.RawMessage(`{"path":"a"}`)}, {Operation: OpLog, Request: someJSON}}}),
		"batch.answer":  answer(raw, BatchOK{Answers: []BatchAnswer{{OK: someJSON, Bytes: run}, {Error: failure}}}),
		"log.request":   request(nil, Log{Level: "warn", Message: odd}, Log{}), "log.answer": answer(nil, None{}),
		"progress.request": request(nil, Progress{Text: odd}), "progress.answer": answer(nil, None{}),

		"fs.stat.request": request(nil, FSStat{Path{Root: "project", Path: odd}}, FSStat{}), "fs.stat.answer": answer(nil, file, FileInfo{}),
		"fs.list.request": request(nil, FSList{Path: Path{Root: "config", Path: odd}, Offset: 1 << 40, Limit: 2000}, FSList{}),
		"fs.list.answer":  answer(nil, FSListed{Path: odd, Entries: []FileInfo{file, {}}, Next: 2000}, FSListed{Entries: []FileInfo{}}),
		"fs.read.request": request(nil, FSRead{Path: Path{Path: odd}, Offset: math.MaxInt64, Length: 1 << 20}, FSRead{}),
		"fs.read.answer":  answer(raw, FSReadOK{Info: file, Data: *run, EOF: true}, FSReadOK{}), "fs.attach.request": request(nil, FSAttach{Path{Path: odd}}),
		"fs.attach.answer": answer(nil, FSAttached{Info: file, Blob: blob, Mime: "image/png"}),
		"fs.glob.request":  request(nil, FSGlob{Path: Path{Root: "project", Path: odd}, Pattern: "**/*.{a,b}", Hidden: true, Ignored: true, Folders: true, Newest: true, Limit: 9}, FSGlob{}),
		"fs.glob.answer":   answer(nil, FSFound{Files: []FileInfo{file}, Matched: 1 << 40, FSPassed: passed}, FSFound{Files: []FileInfo{}}),
		"fs.grep.request": request(nil, FSGrep{Path: Path{Root: "project", Path: odd}, Pattern: odd, Literal: true, IgnoreCase: true, Include: []string{"*.go", "!" + odd},
			Hidden: true, Ignored: true, Context: 1, PerFile: 2, Width: 3, Limit: 4}, FSGrep{}),
		"fs.grep.answer": answer(nil, FSMatched{Files: []FSMatchedFile{{Path: odd, Lines: []FSLine{{Number: 1, Text: odd, Match: true, Cut: true}, {Number: 2}}, More: true}}, Matches: 1, More: true, FSPassed: passed},
			FSMatched{Files: []FSMatchedFile{}}),
		"fs.commit.request": request(raw, FSCommit{Root: "project", Changes: []FSChange{{Op: "write", Path: odd, Expect: "absent", Data: run, Mode: 0o755, Parents: true},
			{Op: "rename", Path: "a", To: odd, Text: odd}, {Op: "remove", Path: "b"}}}),
		"fs.commit.answer": answer(nil, FSCommitted{Changes: []FSChanged{{Path: odd, To: odd, Outcome: "done", Existed: true}, {Path: "b", Outcome: "failed", Error: failure}}}),

		"kv.get.request": request(nil, KVGet{Scope: KVSession, Key: odd}, KVGet{}), "kv.get.answer": answer(nil, KVValue{Value: someJSON, Version: 3}, KVValue{Value: json.RawMessage("null")}),
		"kv.set.request": request(nil, KVSet{Scope: KVGlobal, Key: odd, Value: someJSON, Version: 3}, KVSet{Key: "k", Value: json.RawMessage("null")}), "kv.set.answer": answer(nil, None{}),
		"kv.delete.request": request(nil, KVDelete{Scope: KVSession, Key: odd}), "kv.delete.answer": answer(nil, None{}),
		"kv.list.request": request(nil, KVList{Scope: KVSession, Prefix: odd, After: odd, Limit: 10}, KVList{}), "kv.list.answer": answer(nil, KVListed{Keys: []string{odd, ""}, More: true}, KVListed{Keys: []string{}}),

		"process.run.request": request(nil, ProcessRun{Command: odd, Path: Path{Root: "project", Path: "src"}, Environment: headers, Input: odd, TimeoutMS: 600_000, Apart: true}, ProcessRun{}),
		"process.run.answer": answer(nil, ProcessRan{ExitCode: -1, Signal: "SIGKILL", Stopped: "timeout", DurationMS: 1 << 40, Output: output, Errors: output, Background: 2, Sandbox: "landlock", SandboxNote: odd},
			ProcessRan{}),
		"http.fetch.request": request(raw, HTTPFetch{Method: "POST", URL: "https://a.example/?q=<&>", Headers: headers, Body: run, Text: odd, Secrets: []string{"key"}, Redirect: "manual", MaxBytes: 1 << 40, TimeoutMS: 1, Blob: true},
			HTTPFetch{}),
		"http.fetch.answer": answer(raw, HTTPFetched{Status: 200, Headers: headers, URL: odd, Redirects: 5, Size: 1 << 40, Body: run, Blob: &blob}, HTTPFetched{Headers: map[string]string{}}),

		"permission.ask.request": request(nil, PermissionAsk{Action: "deploy", Resources: []string{odd, ""}}), "permission.ask.answer": answer(nil, None{}),
		"permission.check.request": request(nil, PermissionCheck{Action: "deploy", Resources: []string{odd}}), "permission.check.answer": answer(nil, PermissionChecked{Effects: []string{"allow", "ask", "deny"}}),
		"question.ask.request": request(nil, QuestionAsk{Questions: []Question{{Header: odd, Text: odd, Options: []QuestionOption{{Label: odd, Description: odd}, {}}, Multiple: true, Custom: true}, {}}}),
		"question.ask.answer":  answer(nil, QuestionAnswered{Answers: [][]string{{odd, ""}, {}}}),
		"task.run.request":     request(nil, TaskRun{Description: odd, Prompt: odd, Agent: "a", Session: "s", Background: true}, TaskRun{}), "task.run.answer": answer(nil, TaskRan{Session: "s", Text: odd}, TaskRan{}),
		"todo.get.request": request(nil, None{}), "todo.get.answer": answer(nil, TodoList{Todos: []Todo{{ID: "1", Content: odd, Status: "pending", Priority: "high"}}}, TodoList{Todos: []Todo{}}),
		"todo.set.request": request(nil, TodoList{Todos: []Todo{{Content: odd}}}), "todo.set.answer": answer(nil, TodoList{Todos: []Todo{}}),
		"skill.list.request": request(nil, None{}), "skill.list.answer": answer(nil, SkillListed{Skills: []Skill{{Name: odd, Description: odd}}}, SkillListed{Skills: []Skill{}}),
		"skill.get.request": request(nil, SkillGet{Name: odd}), "skill.get.answer": answer(nil, SkillText{Skill: Skill{Name: odd, Description: odd}, Text: odd, Directory: "/" + odd}, SkillText{}),
		"session.info.request": request(nil, None{}), "session.info.answer": answer(nil, SessionInfo{Session: session, Location: location, Title: odd, Model: "a/b"}, SessionInfo{}),
	}
}

// wire is JSON as it stands on the wire: without escapes for HTML.
func wire(t *testing.T, value any) string {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// The corpus holds every message as this package writes it; -update writes the corpus.
func TestCorpus(t *testing.T) {
	for name, all := range corpus() {
		var examples []example
		for _, one := range all {
			examples = append(examples, example{JSON: wire(t, one.value), Raw: one.raw})
		}
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(examples); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(corpusFolder, name+".json")
		if *update {
			if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if there, err := os.ReadFile(path); err != nil || !bytes.Equal(there, text.Bytes()) {
			t.Errorf("%s is not what the types give (go test ./abi/v1 -update writes it): %v", path, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(corpusFolder, "*.json"))
	if err != nil || len(files) != len(corpus()) {
		t.Errorf("%d files for %d messages: %v", len(files), len(corpus()), err)
	}
}

// Every operation and every entry of the contract is in the corpus, both ways.
func TestCorpusIsWhole(t *testing.T) {
	all := corpus()
	for _, entry := range []string{ExportInit, ExportTool, ExportContext, ExportProviderEncode, ExportProviderDecode, ExportProviderClassify, ExportTransform} {
		if len(all[entry+".call"]) == 0 || len(all[entry+".answer"]) == 0 {
			t.Errorf("%s is not in the corpus", entry)
		}
	}
	source, err := os.ReadFile("operation.go")
	if err != nil {
		t.Fatal(err)
	}
	operations := 0
	for line := range strings.Lines(string(source)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && strings.HasPrefix(name, "Op") {
			operations++
			operation := strings.Trim(strings.TrimSpace(value), `"`)
			if len(all[operation+".request"]) == 0 || len(all[operation+".answer"]) == 0 {
				t.Errorf("%s is not in the corpus", operation)
			}
		}
	}
	if operations == 0 {
		t.Error("operation.go names no operation")
	}
}
