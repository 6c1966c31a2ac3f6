//go:build !wasip1

package guest

import "github.com/plinthhost/plinth/abi/v1"

var operations Operations

// Operations answers the operations of a native test.
type Operations func(operation string, request []byte) []byte

// SetOperations puts what answers the operations and gives back what did before.
func SetOperations(next Operations) (before Operations) {
	before, operations = operations, next
	return before
}

// Operate asks the host for an operation. Both are whole messages.
func Operate(operation string, request []byte) []byte {
	if operations == nil {
		return Fail(&abi.Error{Kind: abi.KindUnavailable, Message: operation + ": this program runs without a host; a test gives one with plinthtest.Host"})
	}
	return operations(operation, request)
}
