package wasm

import (
	"context"
	"maps"
)

// World is what a module built with an Extism PDK may reach by Extism's own
// functions, besides the operations. Its methods run like Operations.Call: on the
// call's goroutine, ended with their context, and each counts as an operation.
type World struct {
	// Variables are behind var_get and var_set. Nil keeps them in the instance, as
	// apart from other calls as the instance's memory is.
	Variables Variables
	// HTTP is behind http_request. Nil refuses, which traps.
	HTTP HTTP
}

// Variables keep values under names. An error traps the guest.
type Variables interface {
	// Get answers the value, nil when there is none.
	Get(ctx context.Context, name string) (value []byte, err error)
	// Set keeps a value; nil removes it.
	Set(ctx context.Context, name string, value []byte) error
}

// HTTP makes requests. Who may be asked is its business. An error traps the guest.
type HTTP interface {
	Do(ctx context.Context, request HTTPRequest) (HTTPResponse, error)
}

// HTTPRequest is a request as the guest wants it; nothing of it was checked.
type HTTPRequest struct {
	Method  string // in capitals, GET by default
	URL     string
	Headers map[string]string
	Body    []byte // nil for none
}

// HTTPResponse is the answer to it.
type HTTPResponse struct {
	Status  int
	Headers map[string]string // names in lower case, several values joined by commas
	Body    []byte            // at most Limits.OperationBytes
}

// variables are those of an instance that has no others. Values are never changed
// in place, so a snapshot shares them.
type variables map[string][]byte

// variableBytes is what a variable takes besides its name and value.
const variableBytes = 40

// put keeps a value; nil removes it. Beyond the limit it is a *LimitError.
func (v *variables) put(name string, value []byte, limit int) error {
	if value == nil {
		delete(*v, name)
		return nil
	}
	size := variableBytes + len(name) + len(value)
	for other, kept := range *v {
		if other != name {
			size += variableBytes + len(other) + len(kept)
		}
	}
	if size >= limit {
		return &LimitError{What: "bytes of variables", Got: int64(size), Limit: int64(limit), Knob: "VariableBytes"}
	}
	if *v == nil {
		*v = make(variables)
	}
	(*v)[name] = value
	return nil
}

func (v variables) clone() variables { return maps.Clone(v) }

// instanceVariables puts an instance's variables behind the interface.
type instanceVariables struct {
	instance *instance
	limit    int
}

func (i instanceVariables) Get(_ context.Context, name string) ([]byte, error) {
	return i.instance.variables[name], nil
}

func (i instanceVariables) Set(_ context.Context, name string, value []byte) error {
	return i.instance.variables.put(name, value, i.limit)
}
