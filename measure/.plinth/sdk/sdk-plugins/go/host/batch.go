package host

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/plinthhost/plinth/abi/v1"
)

// Batch gathers operations that the host carries out side by side. The zero value is
// empty. It runs once.
//
//	var batch host.Batch
//	first := host.Queue[abi.FSStat, abi.FileInfo](&batch, abi.OpFSStat, abi.FSStat{Path: a})
//	second := host.Queue[abi.FSRead, abi.FSReadOK](&batch, abi.OpFSRead, abi.FSRead{Path: b})
//	err := batch.Run()
//	info, _, err := first.Get()
type Batch struct {
	operations []abi.BatchOperation
	raw        []byte
	err        error // of the first request that could not be encoded

	ran     bool
	answers []abi.BatchAnswer
	bytes   []byte
}

// Queued is an operation of a batch.
type Queued[OK any] struct {
	batch *Batch
	index int
}

// Queue adds an operation. Bytes of its request come from b.Bytes.
func Queue[Request, OK any](b *Batch, operation string, request Request) Queued[OK] {
	body, err := json.Marshal(request)
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("encode the request of %s: %w", operation, err)
	}
	b.operations = append(b.operations, abi.BatchOperation{Operation: operation, Request: body})
	return Queued[OK]{b, len(b.operations) - 1}
}

// Bytes takes data along and answers how a request of this batch refers to it.
func (b *Batch) Bytes(data []byte) *abi.Bytes {
	b.raw = append(b.raw, data...)
	return &abi.Bytes{Offset: len(b.raw) - len(data), Length: len(data)}
}

// Run carries the operations out. That one of them failed is told by its Get.
func (b *Batch) Run() error {
	switch {
	case b.err != nil:
		return b.err
	case b.ran:
		return errors.New("the batch has run already")
	}
	b.ran = true
	ok, raw, err := Call[abi.Batch, abi.BatchOK](abi.OpBatch, abi.Batch{Operations: b.operations}, b.raw)
	if err == nil && len(ok.Answers) != len(b.operations) {
		err = fmt.Errorf("read the answer of %s: it has %d answers to %d operations", abi.OpBatch, len(ok.Answers), len(b.operations))
	}
	if err != nil {
		return err
	}
	b.answers, b.bytes = ok.Answers, raw
	return nil
}

// Get answers what the operation did, as Call would have.
func (q Queued[OK]) Get() (ok OK, raw []byte, err error) {
	if q.index >= len(q.batch.answers) {
		return ok, nil, errors.New("the batch has not run, or it failed")
	}
	answer, operation := q.batch.answers[q.index], q.batch.operations[q.index].Operation
	if answer.Error != nil {
		return ok, nil, answer.Error
	}
	if answer.Bytes != nil {
		raw, err = answer.Bytes.Of(q.batch.bytes)
	}
	if err == nil {
		err = json.Unmarshal(answer.OK, &ok)
	}
	if err != nil {
		return ok, nil, fmt.Errorf("read the answer of %s: %w", operation, err)
	}
	return ok, raw, nil
}
