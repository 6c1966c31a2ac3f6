package main

// keepPrivate does nothing: macOS shows a process's memory to nobody but root.
func keepPrivate() error { return nil }
