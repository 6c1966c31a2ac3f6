//go:build !linux

package memory

import "errors"

// tracker is not to be had here: images are copied.
type tracker struct{}

const unknown = -1

func newTracker() *tracker { return nil }

func (*tracker) close() error  { return nil }
func (*tracker) faults() int64 { return unknown }

func (*tracker) written(spans []span, _ []byte) ([]span, error) { return spans, errors.ErrUnsupported }

func newFile([]byte) (source, error) { return source{}, errors.ErrUnsupported }

func (source) closeFile() error      { return nil }
func (*extent) mapFile(source) error { return errors.ErrUnsupported }
func (*extent) forget(span) error    { return errors.ErrUnsupported }
func smallPages([]byte)              {}
