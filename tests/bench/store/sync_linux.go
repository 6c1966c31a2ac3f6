package main

import (
	"os"

	"golang.org/x/sys/unix"
)

func syncData(file *os.File) error { return unix.Fdatasync(int(file.Fd())) }
