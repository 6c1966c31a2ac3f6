package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// link is [text](target); the text may go over lines.
var link = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)

// inCode is a piece of code within a line.
var inCode = regexp.MustCompile("`[^`\n]*`")

func TestLinks(t *testing.T) {
	names := pages(t)
	for _, name := range []string{"README.md", "RATIONALE.md", "docs/README.md", "session/DESIGN.md", "store/DESIGN.md"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not among the pages", name)
		}
	}
	for _, name := range names {
		for _, problem := range brokenLinks(t, readPage(t, name)) {
			t.Error(problem)
		}
	}
}

func brokenLinks(t *testing.T, p page) (problems []string) {
	t.Helper()
	prose := inCode.ReplaceAllString(strings.Join(p.prose, "\n"), "")
	for _, at := range link.FindAllStringSubmatchIndex(prose, -1) {
		target := prose[at[2]:at[3]]
		if problem := broken(t, p, target); problem != "" {
			line := 1 + strings.Count(prose[:at[2]], "\n")
			problems = append(problems, p.name+":"+strconv.Itoa(line)+": "+target+": "+problem)
		}
	}
	return problems
}

func broken(t *testing.T, p page, target string) string {
	t.Helper()
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return ""
	}
	file, anchor, _ := strings.Cut(target, "#")
	other := p
	if file != "" {
		name := path.Join(path.Dir(p.name), file)
		if strings.HasPrefix(name, "../") || path.IsAbs(file) {
			return "it leads out of the repository"
		}
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			return "there is no such file"
		}
		if anchor == "" || info.IsDir() {
			return ""
		}
		other = readPage(t, name)
	}
	if anchor != "" && !other.anchors()[anchor] {
		return "the page has no such heading"
	}
	return ""
}

// TestEveryPageIsLinked keeps pages of docs from being there unseen.
func TestEveryPageIsLinked(t *testing.T) {
	index := readPage(t, "docs/README.md")
	linked := map[string]bool{}
	for _, line := range index.prose {
		for _, match := range link.FindAllStringSubmatch(line, -1) {
			linked[path.Join("docs", match[1])] = true
		}
	}
	for _, name := range pages(t) {
		if strings.HasPrefix(name, "docs/") && name != index.name && !linked[name] {
			t.Errorf("%s has no link to %s", index.name, name)
		}
	}
}

func TestBrokenLinksAreFound(t *testing.T) {
	p := parsePage("docs/README.md", "# A heading: two\n\n[a](nowhere.md) [b](../README.md) [c](#a-heading-two)\n[d](#none) `[e](no.md)` [f](../../x) [g](https://x.example/y)\n\n```sh\n[h](no.md)\n```\n")
	got := strings.Join(brokenLinks(t, p), "\n")
	want := "docs/README.md:3: nowhere.md: there is no such file\n" +
		"docs/README.md:4: #none: the page has no such heading\n" +
		"docs/README.md:4: ../../x: it leads out of the repository"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
