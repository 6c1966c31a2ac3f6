package docs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/fsys"
)

const operationsPage = "docs/reference/operations.md"

// messages are the request and the ok of one operation.
type messages struct{ request, answer any }

// operationMessages says what the messages of each operation are.
func operationMessages() map[string]messages {
	none := abi.None{}
	return map[string]messages{
		abi.OpBatch:           {abi.Batch{}, abi.BatchOK{}},
		abi.OpFSAttach:        {abi.FSAttach{}, abi.FSAttached{}},
		abi.OpFSCommit:        {abi.FSCommit{}, abi.FSCommitted{}},
		abi.OpFSGlob:          {abi.FSGlob{}, abi.FSFound{}},
		abi.OpFSGrep:          {abi.FSGrep{}, abi.FSMatched{}},
		abi.OpFSList:          {abi.FSList{}, abi.FSListed{}},
		abi.OpFSRead:          {abi.FSRead{}, abi.FSReadOK{}},
		abi.OpFSStat:          {abi.FSStat{}, abi.FileInfo{}},
		abi.OpHTTPFetch:       {abi.HTTPFetch{}, abi.HTTPFetched{}},
		abi.OpKVDelete:        {abi.KVDelete{}, none},
		abi.OpKVGet:           {abi.KVGet{}, abi.KVValue{}},
		abi.OpKVList:          {abi.KVList{}, abi.KVListed{}},
		abi.OpKVSet:           {abi.KVSet{}, none},
		abi.OpLog:             {abi.Log{}, none},
		abi.OpPermissionAsk:   {abi.PermissionAsk{}, none},
		abi.OpPermissionCheck: {abi.PermissionCheck{}, abi.PermissionChecked{}},
		abi.OpProcessRun:      {abi.ProcessRun{}, abi.ProcessRan{}},
		abi.OpProgress:        {abi.Progress{}, none},
		abi.OpQuestionAsk:     {abi.QuestionAsk{}, abi.QuestionAnswered{}},
		abi.OpSessionInfo:     {none, abi.SessionInfo{}},
		abi.OpSkillGet:        {abi.SkillGet{}, abi.SkillText{}},
		abi.OpSkillList:       {none, abi.SkillListed{}},
		abi.OpTaskRun:         {abi.TaskRun{}, abi.TaskRan{}},
		abi.OpTodoGet:         {none, abi.TodoList{}},
		abi.OpTodoSet:         {abi.TodoList{}, abi.TodoList{}},
	}
}

// TestOperations holds the page to what the host offers guests: who may use an
// operation and what it asks for, and the fields of its messages.
func TestOperations(t *testing.T) {
	described := operationMessages()
	s := newShapes(t)
	all := table{head: []string{"operation", "for", "permission action", "resource", "grant", "effect", "limits", "errors"}, written: 2}
	tables := map[string]table{}
	for _, operation := range bridge.Table() {
		who := "tools and sources"
		if operation.Tools {
			who = "tools"
		}
		effect := ""
		if operation.Effect {
			effect = "yes"
		}
		all.rows = append(all.rows, []string{code(operation.Name), who, orNone(code(operation.Action)), orNone(operation.Resource), orNone(code(operation.Grant)), orNone(effect)})
		message, ok := described[operation.Name]
		if !ok {
			t.Errorf("%s is offered; say in this test what its messages are", operation.Name)
			continue
		}
		delete(described, operation.Name)
		for side, shape := range map[string]any{" request": message.request, " answer": message.answer} {
			if of := reflect.TypeOf(shape); shared(of) {
				s.mention(of)
			} else {
				tables[operation.Name+side] = s.fields(of)
			}
		}
	}
	for name := range described {
		t.Errorf("%s is described in this test and not offered", name)
	}
	tables["operations"] = all
	s.mentioned(tables)
	delete(tables, "Bytes") // references, which the page explains
	delete(tables, "Blob")
	tables["kinds"] = table{head: []string{"kind", "means"}, rows: rowsOfConstants(t, "abi/v1", typed("Kind")), written: 1}
	tables["functions"] = functionsOfOperations(t)
	hold(t, operationsPage, tables)
}

// shared are the messages that have a table under their own name.
func shared(message reflect.Type) bool {
	return slices.Contains([]reflect.Type{reflect.TypeFor[abi.FileInfo](), reflect.TypeFor[abi.TodoList]()}, message)
}

// TestOperationsHaveASection: each operation has a heading, alone or with others.
func TestOperationsHaveASection(t *testing.T) {
	headings := map[string]bool{}
	for _, line := range readPage(t, operationsPage).prose {
		if match := heading.FindStringSubmatch(line); match != nil {
			for name := range strings.SplitSeq(match[1], ", ") {
				headings[name] = true
			}
		}
	}
	for _, name := range bridge.Offered() {
		if !headings[name] {
			t.Errorf("%s has no section for %s", operationsPage, name)
		}
	}
}

// TestFiguresOfOperations holds the figures of the page to the code, each in the row
// of its operation.
func TestFiguresOfOperations(t *testing.T) {
	own, files, programs, network := figuresOf(t, "host/bridge"), figuresOf(t, "host/fsys"), figuresOf(t, "host/process"), figuresOf(t, "host/egress")
	search := []string{mib(fsys.MaxText), seconds(own.constant("searchTime")), fmt.Sprintf("%d folders deep", files.constant("maxDepth"))}
	words := kib(own.constant("maxWords"))
	store := []string{fmt.Sprintf("%d bytes a key", bridge.MaxKVKey), mib(bridge.MaxKVBytes) + " a scope"}
	asks := func(most int) []string {
		return []string{"1 to " + grouped(most) + " resources", grouped(own.constant("maxText")) + " bytes each"}
	}
	limits := map[string][]string{
		abi.OpBatch:    {fmt.Sprintf("1 to %d operations", bridge.MaxBatch), fmt.Sprintf("%d at a time", own.constant("batchWidth")), mib(bridge.MaxBatchBytes)},
		abi.OpFSAttach: {mib(bridge.MaxAttachBytes)},
		abi.OpFSCommit: {fmt.Sprintf("1 to %d changes", fsys.MaxChanges)},
		abi.OpFSGlob:   append(search, grouped(fsys.MaxFiles)+" files"),
		abi.OpFSGrep:   append(search, grouped(fsys.MaxMatches)+" lines"),
		abi.OpFSList:   {grouped(fsys.MaxPage) + " entries a page", grouped(files.constant("maxEntries")) + " in a directory"},
		abi.OpFSRead:   {mib(bridge.MaxReadBytes) + " a call"},
		abi.OpFSStat:   {grouped(files.constant("maxPath")) + " bytes of path"},
		abi.OpHTTPFetch: {mib(network.field("NewFetcher", "RequestBody")) + " to send", mib(bridge.DefaultFetchBytes) + " to get", mib(bridge.MaxFetchBytes),
			seconds(network.field("NewFetcher", "Total")), fmt.Sprintf("%d redirects", network.argument("defaults", "l.Redirects")),
			fmt.Sprintf("%d requests a minute", network.field("NewFetcher", "Requests")), fmt.Sprintf("%d open to an origin", network.field("NewFetcher", "Connections"))},
		abi.OpKVDelete:        store[:1],
		abi.OpKVGet:           store[:1],
		abi.OpKVList:          {grouped(bridge.MaxKVPage) + " keys a page"},
		abi.OpKVSet:           store,
		abi.OpLog:             {kib(own.constant("maxLine")) + " a line"},
		abi.OpPermissionAsk:   asks(bridge.MaxAsked),
		abi.OpPermissionCheck: asks(bridge.MaxChecked),
		abi.OpProcessRun: {kib(bridge.MaxCommandBytes) + " of command", seconds(programs.constant("defaultTimeout")), seconds(int(bridge.MaxCommandTimeout)),
			kib(2*programs.constant("defaultKept")) + " of output", mib(own.constant("maxSavedOutput")), mib(programs.constant("defaultLimit")),
			fmt.Sprintf("%d processes", programs.constant("defaultProcesses")), fmt.Sprintf("%d commands at once", programs.constant("defaultRunning"))},
		abi.OpProgress:    {kib(own.constant("maxLine")) + " a line"},
		abi.OpQuestionAsk: {fmt.Sprintf("1 to %d questions", bridge.MaxQuestions), fmt.Sprintf("%d options each", bridge.MaxOptions), words + " a text"},
		abi.OpTaskRun:     {kib(bridge.MaxPromptBytes) + " of prompt"},
		abi.OpTodoSet:     {fmt.Sprintf("%d items", bridge.MaxTodos), words + " each"},
	}
	written := operationCells(t)
	for _, name := range bridge.Offered() {
		cell := written[code(name)][0]
		for _, figure := range limits[name] {
			if !strings.Contains(cell, figure) {
				t.Errorf("%s: the limits of %s are %q and do not say %q", operationsPage, name, cell, figure)
			}
		}
		if (cell == "–") != (limits[name] == nil) {
			t.Errorf("%s: the limits of %s are %q, this test has %q", operationsPage, name, cell, limits[name])
		}
	}
	mustContain(t, operationsPage,
		fmt.Sprintf("at most %d", fsys.MaxContext), fmt.Sprintf("%d when it is 0, at most %s", fsys.DefaultWidth, grouped(fsys.MaxWidth)),
		fmt.Sprintf("further %d wait", programs.constant("defaultWaiting")), seconds(programs.constant("defaultGrace"))+" later",
		fmt.Sprintf("%d ms", bridge.ContextDeadline.Milliseconds()),
		grouped(own.constant("defaultOperations"))+" operations")
}

// operationCells answers the limits and the errors of each row of the table.
func operationCells(t *testing.T) map[string][]string {
	t.Helper()
	for _, match := range marked.FindAllStringSubmatch(readPage(t, operationsPage).text, -1) {
		if match[1] == "operations" {
			return writtenCells(match[2], 2)
		}
	}
	t.Fatalf("%s has no table of operations", operationsPage)
	return nil
}

// TestErrorsOfOperations: the errors of the table are kinds of the contract.
func TestErrorsOfOperations(t *testing.T) {
	for name, cells := range operationCells(t) {
		for kind := range strings.SplitSeq(cells[1], ", ") {
			if kind != "–" && !abi.Kind(strings.Trim(kind, "`")).Valid() {
				t.Errorf("%s: %s has the error %s, which is no kind", operationsPage, name, kind)
			}
		}
	}
}
