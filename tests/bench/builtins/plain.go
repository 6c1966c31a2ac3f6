package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// plainly does what the tools do, in a folder, with the standard library alone.
type plainly struct{ folder string }

func (p plainly) read(name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(p.folder, name))
	return string(data), err
}

func (p plainly) list() (string, error) {
	entries, err := os.ReadDir(p.folder)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, entry := range entries {
		b.WriteString(entry.Name())
		if entry.IsDir() {
			b.WriteByte('/')
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// glob finds files by their names, the latest changed first.
func (p plainly) glob(pattern string) (string, error) {
	type found struct {
		path     string
		modified time.Time
	}
	var all []found
	err := filepath.WalkDir(p.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if fits, err := filepath.Match(pattern, entry.Name()); err != nil || !fits {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		all = append(all, found{path, info.ModTime()})
		return nil
	})
	if err != nil {
		return "", err
	}
	slices.SortFunc(all, func(a, b found) int { return b.modified.Compare(a.modified) })
	var b strings.Builder
	for _, one := range all {
		b.WriteString(strings.TrimPrefix(one.path, p.folder+"/") + "\n")
	}
	return b.String(), nil
}

// grep finds lines by a pattern, by file.
func (p plainly) grep(pattern string) (string, error) {
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = filepath.WalkDir(p.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		named := false
		scanner := bufio.NewScanner(bytes.NewReader(data))
		for n := 1; scanner.Scan(); n++ {
			if !compiled.Match(scanner.Bytes()) {
				continue
			}
			if !named {
				b.WriteString(strings.TrimPrefix(path, p.folder+"/") + "\n")
				named = true
			}
			fmt.Fprintf(&b, "  %d: %s\n", n, scanner.Text())
		}
		return scanner.Err()
	})
	return b.String(), err
}
