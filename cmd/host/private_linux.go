package main

import "golang.org/x/sys/unix"

// keepPrivate keeps other processes of the user, commands of plugins among them, out
// of this one's memory and environment, where secrets are. Root is not kept out.
func keepPrivate() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
