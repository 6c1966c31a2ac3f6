package bridge

import (
	"context"
	"fmt"

	abi "github.com/plinthhost/plinth/abi/v1"
)

// Operation is one host operation, as docs/reference/operations.md lists it.
type Operation struct {
	Name string
	// Action and Resource are what permission is asked on; empty where nothing is.
	Action, Resource string
	// Grant is what the manifest must ask for; empty where nothing is needed.
	Grant string
	// Tools is set when only tools may use it: it changes, asks or shows something.
	Tools bool
	// Effect is set when it changes something that outlives the call.
	Effect bool

	run func(ctx context.Context, o *operations, request, raw []byte) (any, []byte, error)
}

// The grants, as the table names them.
const (
	grantRead    = "[[request.fs]]"
	grantWrite   = `[[request.fs]] with access = "write"`
	grantKV      = "[request.kv]"
	grantProcess = "[request.process]"
	grantHTTP    = "[[request.http]]"
	grantSession = "[request.session]"
)

// The permission actions.
const (
	actionRead     = "read"
	actionEdit     = "edit"
	actionBash     = "bash"
	actionFetch    = "webfetch"
	actionExternal = "external_directory"
)

// Table is the operations of this version, by name.
func Table() []Operation {
	return []Operation{
		{Name: abi.OpBatch, run: typed((*operations).batch)},
		{Name: abi.OpFSAttach, Action: actionRead, Resource: "the file", Grant: grantRead, Tools: true, run: typed((*operations).attach)},
		{Name: abi.OpFSCommit, Action: actionEdit, Resource: "all files together", Grant: grantWrite, Tools: true, Effect: true, run: typed((*operations).commit)},
		{Name: abi.OpFSGlob, Action: actionRead, Resource: "the folder, then each file without asking", Grant: grantRead, run: typed((*operations).glob)},
		{Name: abi.OpFSGrep, Action: actionRead, Resource: "the folder or file, then each file without asking", Grant: grantRead, run: typed((*operations).grep)},
		{Name: abi.OpFSList, Action: actionRead, Resource: "the directory, then each entry without asking", Grant: grantRead, run: typed((*operations).list)},
		{Name: abi.OpFSRead, Action: actionRead, Resource: "the file", Grant: grantRead, run: typed((*operations).read)},
		{Name: abi.OpFSStat, Action: actionRead, Resource: "the file, without asking", Grant: grantRead, run: typed((*operations).stat)},
		{Name: abi.OpHTTPFetch, Action: actionFetch, Resource: "the URL, when it is not granted", Grant: grantHTTP, Effect: true, run: typed((*operations).fetch)},
		{Name: abi.OpKVDelete, Grant: grantKV, Effect: true, run: typed((*operations).kvDelete)},
		{Name: abi.OpKVGet, Grant: grantKV, run: typed((*operations).kvGet)},
		{Name: abi.OpKVList, Grant: grantKV, run: typed((*operations).kvList)},
		{Name: abi.OpKVSet, Grant: grantKV, Effect: true, run: typed((*operations).kvSet)},
		{Name: abi.OpLog, run: typed((*operations).logLine)},
		{Name: abi.OpPermissionAsk, Action: "any", Resource: "what the request lists", Tools: true, run: typed((*operations).permissionAsk)},
		{Name: abi.OpPermissionCheck, run: typed((*operations).permissionCheck)},
		{Name: abi.OpProcessRun, Action: actionBash, Resource: "every command of the line", Grant: grantProcess, Tools: true, Effect: true, run: typed((*operations).processRun)},
		{Name: abi.OpProgress, Tools: true, run: typed((*operations).showProgress)},
		{Name: abi.OpQuestionAsk, Grant: grantSession, Tools: true, run: typed((*operations).question)},
		{Name: abi.OpSessionInfo, Grant: grantSession, run: typed((*operations).sessionInfo)},
		{Name: abi.OpSkillGet, Grant: grantSession, Tools: true, run: typed((*operations).skillGet)},
		{Name: abi.OpSkillList, Grant: grantSession, Tools: true, run: typed((*operations).skillList)},
		{Name: abi.OpTaskRun, Grant: grantSession, Tools: true, Effect: true, run: typed((*operations).task)},
		{Name: abi.OpTodoGet, Grant: grantSession, Tools: true, run: typed((*operations).todoGet)},
		{Name: abi.OpTodoSet, Grant: grantSession, Tools: true, Effect: true, run: typed((*operations).todoSet)},
	}
}

// SessionOperations are those that a manifest asks for by name, ascending.
func SessionOperations() []string {
	var names []string
	for _, operation := range Table() {
		if operation.Grant == grantSession {
			names = append(names, operation.Name)
		}
	}
	return names
}

// typed decodes the request before method carries it out.
func typed[R any](method func(*operations, context.Context, R, []byte) (any, []byte, error)) func(context.Context, *operations, []byte, []byte) (any, []byte, error) {
	return func(ctx context.Context, o *operations, encoded, raw []byte) (any, []byte, error) {
		request, err := decodeRequest[R](o.reach.Services, encoded)
		if err != nil {
			return nil, nil, err
		}
		return method(o, ctx, request, raw)
	}
}

// Offered lists the operations of this version, ascending.
func Offered() []string {
	table := Table()
	names := make([]string, len(table))
	for i, operation := range table {
		names[i] = operation.Name
	}
	return names
}

// refuse is a *abi.Error.
func refuse(kind abi.Kind, format string, args ...any) *abi.Error {
	return &abi.Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}
