package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
)

const (
	fileCount = 50_000
	perFolder = 16
	rareWord  = "quintessenceMarker"
	knownWord = "errNotReady"
)

// words are what the text of the tree is made of, in the proportions of source
// code rather than of prose.
func words() []string {
	return []string{"func", "return", "if", "err", "!=", "nil", "{", "}", "ctx", "context.Context", "string", "int", "range", "for", ":=", "=",
		"value", "result", "name", "path", "client", "server", "handler", "request", "response", "append", "len", "make", "map", "struct",
		"type", "interface", "const", "var", "import", "fmt.Errorf(\"%w\", err)", "time.Duration", "sync.Mutex", "Lock()", "Unlock()",
		"defer", "switch", "case", "default:", "// the caller closes it", "// see the comment above", "true", "false", "index", "Error"}
}

// plant makes the tree of files below folder, the same one every time: a work tree
// of git with nested folders, ignored files, hidden files and some that are no text.
func plant(folder string) error {
	random := rand.New(rand.NewPCG(50, 4))
	vocabulary := words()
	for _, name := range []string{".git/info", ".github", "build"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		".gitignore": "/build/\n*.log\n*.tmp\n!keep.tmp\nnode_modules/\n", ".ignore": "*.snap\n", ".git/info/exclude": "scratch*\n",
		".github/workflow.yml": "TODO: hidden\n", "build/out.go": "TODO: ignored\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for i := range fileCount {
		part := i / perFolder
		parent := filepath.Join(folder, fmt.Sprintf("area%02d", part/400), fmt.Sprintf("module%02d", part/20%20), fmt.Sprintf("part%02d", part%20))
		if i%perFolder == 0 {
			if err := os.MkdirAll(parent, 0o755); err != nil {
				return err
			}
		}
		if i%(50*perFolder) == 0 {
			if err := os.WriteFile(filepath.Join(parent, ".gitignore"), []byte("local*\n"), 0o644); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(parent, fileName(i)), fileText(random, vocabulary, i), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func fileName(i int) string {
	extension := ".go"
	switch {
	case i%97 == 0:
		extension = ".log"
	case i%89 == 0:
		extension = ".png"
	case i%7 == 0:
		extension = ".md"
	}
	return fmt.Sprintf("file%05d%s", i, extension)
}

// fileText is about 4 KiB of lines, log-normal as the files of a project are.
func fileText(random *rand.Rand, vocabulary []string, i int) []byte {
	size := int(math.Exp(random.NormFloat64()*1.1 + 7.8))
	var text bytes.Buffer
	if i%89 == 0 {
		text.WriteString("\x89PNG\r\n\x1a\n\x00\x00\x00\r")
	}
	fmt.Fprintf(&text, "package part%d\n\nimport (\n", i)
	for text.Len() < min(size, 1<<20) {
		for range random.IntN(4) {
			text.WriteByte('\t')
		}
		for range random.IntN(12) {
			text.WriteString(vocabulary[random.IntN(len(vocabulary))])
			text.WriteByte(' ')
		}
		special(random, &text)
		text.WriteByte('\n')
	}
	return text.Bytes()
}

// special writes, now and then, what the questions ask for.
func special(random *rand.Rand, text *bytes.Buffer) {
	switch n := random.IntN(100_000); {
	case n < 3:
		text.WriteString(rareWord)
	case n < 20:
		fmt.Fprintf(text, "func part%dHandler(ctx context.Context, request *Request) error {", n)
	case n < 40:
		text.WriteString("// TODO: tidy this up")
	case n < 50:
		text.WriteString("// Fixme or DEPRECATED")
	case n < 80:
		fmt.Fprintf(text, "Version%d", 100+n)
	case n < 180:
		text.WriteString(knownWord)
	}
}
