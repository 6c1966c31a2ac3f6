package model

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The environment of a long run: how many sequences, and the page that its result is
// written into, between two markers.
const (
	sequencesVariable = "PLINTH_MODEL"
	pageVariable      = "PLINTH_MODEL_PAGE"
)

// tally counts what a run did.
type tally struct {
	mu        sync.Mutex
	began     time.Time
	seed      string
	sequences int
	steps     map[string]int // by kind
	events    map[string]int // by type, in the logs as they were at the end
}

var counted = tally{steps: map[string]int{}, events: map[string]int{}}

func (c *tally) course(played course) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sequences++
	for _, s := range played.Steps {
		c.steps[s.Do]++
		for _, part := range s.Parts {
			c.steps[part.Do]++
		}
	}
}

func (c *tally) event(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events[kind]++
}

// text is the result as two tables.
func (c *tally) text(ok bool) string {
	var text strings.Builder
	result := "passed"
	if !ok {
		result = "**failed**"
	}
	fmt.Fprintf(&text, "| date | sequences | seed | duration | result |\n|---|---:|---|---:|---|\n| %s | %d | `%s` | %s | %s |\n\n",
		c.began.UTC().Format(time.DateOnly), c.sequences, c.seed, time.Since(c.began).Round(time.Second), result)
	fmt.Fprintf(&text, "Steps, with those of *together*, and events of the logs as they were at the end:\n\n")
	for _, counts := range []struct {
		head   string
		number map[string]int
	}{{"step", c.steps}, {"event", c.events}} {
		fmt.Fprintf(&text, "| %s | number |\n|---|---:|\n", counts.head)
		for _, kind := range slices.Sorted(maps.Keys(counts.number)) {
			fmt.Fprintf(&text, "| %s | %d |\n", kind, counts.number[kind])
		}
		text.WriteString("\n")
	}
	return text.String()
}

var resultPattern = regexp.MustCompile(`(?s)(<!-- model result -->\n).*?(<!-- end of model result -->)`)

// write puts the result into a page.
func (c *tally) write(path string, ok bool) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !resultPattern.Match(page) {
		return fmt.Errorf("%s has no markers for the result", path)
	}
	written := resultPattern.ReplaceAllString(string(page), "${1}"+c.text(ok)+"${2}")
	return os.WriteFile(path, []byte(written), 0o644)
}

// TestMain settles how many sequences are played: what PLINTH_MODEL says, or
// -rapid.checks, or the share of every test run.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := counted.prepare(os.Getenv(sequencesVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	code := m.Run()
	if page := os.Getenv(pageVariable); page != "" {
		if err := counted.write(page, code == 0); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 2
		}
	}
	os.Exit(code)
}

// prepare sets the flags of rapid that were not given.
func (c *tally) prepare(sequences string) error {
	c.began = time.Now()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	defaults := map[string]string{"rapid.checks": strconv.Itoa(share), "rapid.seed": strconv.FormatInt(c.began.UnixNano(), 10)}
	if sequences != "" {
		if n, err := strconv.Atoi(sequences); err != nil || n < 1 {
			return fmt.Errorf("%s is %q; it must be a number of sequences, such as 10000", sequencesVariable, sequences)
		}
		defaults["rapid.checks"], given["rapid.checks"] = sequences, false
	}
	for name, value := range defaults {
		if given[name] {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			return err
		}
	}
	c.seed = flag.Lookup("rapid.seed").Value.String()
	return nil
}
