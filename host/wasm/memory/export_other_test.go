//go:build !linux

package memory

func (*tracker) disable(bool) {}
