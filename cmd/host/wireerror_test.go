package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// wording is one kernel error and what a client is told of it.
type wording struct {
	err  error
	code protocol.Code
	text string
}

// wordings are by the names that errors have in the kernel's code.
func wordings() map[string]wording {
	shutdown := "the host is shutting down; send it again when one is back"
	hidden := "the host failed; its log says why, under ·"
	return map[string]wording{
		"session.ErrBusy": {fmt.Errorf("%w: 256 prompts wait in this session, the limit; cancel some", session.ErrBusy), protocol.Busy,
			"256 prompts wait in this session, the limit; cancel some"},
		"session.ErrInvalid":  {fmt.Errorf("%w: prompt.text is empty", session.ErrInvalid), protocol.BadRequest, "prompt.text is empty"},
		"session.ErrNotFound": {fmt.Errorf("session %s: %w", none, session.ErrNotFound), protocol.NotFound, "session " + none + ": not found"},
		"session.ErrResolved": {fmt.Errorf("question q: %w", session.ErrResolved), protocol.AlreadyResolved, "question q: already answered; the first answer counts"},
		"session.ErrNoSnapshot": {fmt.Errorf("%w: tree", session.ErrNoSnapshot), protocol.Gone,
			"the files are not kept in that state any more; ask for the changes without patches, and of a revert, stage it again without files (--no-files) to leave them as they are"},
		"session.ErrMoved":       {fmt.Errorf("%w: from /a to /b", session.ErrMoved), protocol.Conflict, "the session has moved: from /a to /b; look where it works now, and send it again"},
		"session.ErrInterrupted": {session.ErrInterrupted, protocol.Unavailable, "this was interrupted before it was done; send it again"},
		"session.ErrShutdown":    {session.ErrShutdown, protocol.Unavailable, shutdown},
		"session.ConflictError": {&session.ConflictError{ID: "msg_1", Reason: "was promoted", Fix: "send another"}, protocol.Conflict,
			"msg_1 was promoted; send another"},
		"session.BlockedError": {&session.BlockedError{Keys: []string{"core/date"}}, protocol.Unavailable,
			"the context sources core/date cannot be read, so the session has no context to start with; the prompt stays pending and is tried again with the next one or a resume"},
		"session.ModelError":          {&session.ModelError{Message: "no model is chosen; name one"}, protocol.BadRequest, "no model is chosen; name one"},
		"session.DeniedError":         {&session.DeniedError{Action: "read", Resource: "x"}, protocol.Forbidden, "read on x is denied by the permission rules"},
		"session.MessageDecodeError":  {&session.MessageDecodeError{Message: "msg_1", Err: errors.New("secret bytes")}, protocol.Internal, hidden},
		"session.SnapshotDecodeError": {&session.SnapshotDecodeError{Session: none, Err: session.ErrInvalid}, protocol.Internal, hidden},
		"store.ErrSequence":           {store.ErrSequence, protocol.Conflict, "something else was recorded in the session at the same time; look at it, and send this again"},
		"store.ErrFenced":             {store.ErrFenced, protocol.Unavailable, "another host works on the session by now; send it again to that one"},
		"store.ErrDeleted":            {store.ErrDeleted, protocol.Gone, "the session was deleted, and its id cannot be used again; create another one"},
		"store.ErrEventExists":        {store.ErrEventExists, protocol.Conflict, "this was recorded before; look at the session"},
		"store.ErrPruned":             {store.ErrPruned, protocol.Gone, "the events from this place on were removed; read the session anew"},
		"store.ErrReplayOwner":        {store.ErrReplayOwner, protocol.Unavailable, "the session is copied here from another host; send it to that one"},
		"store.ErrTooLarge":           {fmt.Errorf("append: %w: 2 of 1 MiB", store.ErrTooLarge), protocol.TooLarge, "append: the batch is too large: 2 of 1 MiB"},
		"store.ErrFull":               {store.ErrFull, protocol.Busy, "the disk of the host is full and nothing was written; make room on it, then send it again"},
		"store.ErrFailed":             {store.ErrFailed, protocol.Unavailable, "the host cannot write its log any more and stops; look at its disk, start it again, then send it again"},
		"store.ErrClosed":             {store.ErrClosed, protocol.Unavailable, shutdown},
		"store.ErrNotFound":           {fmt.Errorf("blob b: %w", store.ErrNotFound), protocol.NotFound, "blob b: not found"},
		"store.ErrCorrupt":            {fmt.Errorf("blob b: %w", store.ErrCorrupt), protocol.Internal, hidden},
		"store.RejectedError":         {&store.RejectedError{Type: "t", Aggregate: "a", Err: session.ErrBusy}, protocol.Busy, "t of a was rejected: busy"},
	}
}

// ofWork are the errors that end work, not requests: events have them, and the tables of
// TestFailures, TestProviderClasses and TestToolKinds tell of each.
var ofWork = []string{"session.Failure", "session.ProviderError", "session.ToolError", "session.BudgetError", "store.ReplayError"}

func TestWireError(t *testing.T) {
	for name, c := range wordings() {
		told := wireError(fmt.Errorf("on the way: %w", c.err))
		want := varying.ReplaceAllString(c.text, "·")
		if strings.Contains(told.Error(), "on the way: ") && c.code != protocol.Internal {
			want = "on the way: " + want // the words around an error stay
		}
		wire := protocol.AsError(told)
		if wire.Code != c.code || varying.ReplaceAllString(wire.Message, "·") != want {
			t.Errorf("%s: %s %s\nwant %s %s", name, wire.Code, wire.Message, c.code, want)
		}
		if reference, ok := wire.Details["reference"].(string); ok != (c.code == protocol.Internal) || !strings.HasPrefix(told.Error(), reference) ||
			ok && !strings.Contains(told.Error(), c.err.Error()) {
			t.Errorf("%s: the log has %v under %q", name, told, reference)
		}
	}
	for _, err := range []error{nil, context.Canceled, context.DeadlineExceeded} {
		if told := wireError(err); told != err {
			t.Errorf("%v became %v", err, told)
		}
	}
	unknown := errors.New("what nobody thought of")
	if told := wireError(unknown); !errors.Is(told, unknown) || strings.Contains(protocol.AsError(told).Message, "nobody") {
		t.Errorf("%v", protocol.AsError(told))
	}
}

// TestEveryErrorHasARow: an error, a code or a kind that is added to the code is missing
// here until a table tells of it.
func TestEveryErrorHasARow(t *testing.T) {
	rows := func(name string, got, want []string) {
		slices.Sort(got)
		slices.Sort(want)
		for _, one := range want {
			if !slices.Contains(got, one) {
				t.Errorf("%s has no row of %s", name, one)
			}
		}
		for _, one := range slices.Compact(got) {
			if !slices.Contains(want, one) {
				t.Errorf("%s has a row of %s, which is none", name, one)
			}
		}
	}
	var codes, classes, kinds, answers []string
	for _, f := range failures() {
		codes = append(codes, f.code)
	}
	for _, c := range refusals() {
		classes = append(classes, c.class)
	}
	for _, c := range brokenCalls() {
		kinds = append(kinds, string(c.kind))
	}
	for _, c := range turnedAway() {
		answers = append(answers, string(c.code))
	}
	for _, code := range notSent {
		answers = append(answers, string(code))
	}
	kernel, contract, wire := parsed(t, "../../session"), parsed(t, "../../abi/v1"), parsed(t, "../../client/protocol")
	// TestShutdown and TestCompactCommand have these.
	rows("TestFailures", append(codes, session.FailureShutdown, session.FailureCompaction), values(kernel, "Failure", ""))
	rows("TestProviderClasses", classes, values(kernel, "Provider", ""))
	rows("TestToolKinds", kinds, values(contract, "Kind", "Kind"))
	rows("TestRequestsTurnedAway", answers, values(wire, "", "Code"))
	errorNames := append(errorsOf("session", kernel), errorsOf("store", parsed(t, "../../store"))...)
	rows("TestWireError", append(slices.Collect(maps.Keys(wordings())), ofWork...), errorNames)
}

// parsed reads a package without its tests.
func parsed(t *testing.T, folder string) []*ast.File {
	t.Helper()
	set := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// values answers the string constants whose name begins with a prefix and whose type is
// the one named, "" for none.
func values(files []*ast.File, prefix, kind string) (all []string) {
	for _, file := range files {
		for _, declaration := range file.Decls {
			group, ok := declaration.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				constant := spec.(*ast.ValueSpec)
				named, _ := constant.Type.(*ast.Ident)
				if (kind == "") != (named == nil) || named != nil && named.Name != kind || !strings.HasPrefix(constant.Names[0].Name, prefix) {
					continue
				}
				if value, ok := constant.Values[0].(*ast.BasicLit); ok && value.Kind == token.STRING {
					all = append(all, strings.Trim(value.Value, `"`))
				}
			}
		}
	}
	return all
}

// errorsOf answers the sentinels of a package, Err…, and its types with an Error method.
func errorsOf(name string, files []*ast.File) (all []string) {
	for _, file := range files {
		for _, declaration := range file.Decls {
			switch d := declaration.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if variable, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR && strings.HasPrefix(variable.Names[0].Name, "Err") {
						all = append(all, name+"."+variable.Names[0].Name)
					}
				}
			case *ast.FuncDecl:
				if d.Recv == nil || d.Name.Name != "Error" {
					continue
				}
				if pointer, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
					all = append(all, name+"."+pointer.X.(*ast.Ident).Name)
				}
			}
		}
	}
	return all
}
