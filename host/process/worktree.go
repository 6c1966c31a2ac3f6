package process

import (
	"os"
	"path/filepath"
	"strings"
)

// gitFolder answers the folder of the repository whose work tree is apart from it,
// as "git worktree" makes one, or none. The file .git may be the work of a command,
// so it counts only when the repository names the work tree too.
func gitFolder(project string) []string {
	text, err := os.ReadFile(filepath.Join(project, ".git")) // fails for a folder
	named, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok {
		return nil
	}
	if !filepath.IsAbs(named) {
		named = filepath.Join(project, named)
	}
	own, err := filepath.EvalSymlinks(named)
	if err != nil || filepath.Base(filepath.Dir(own)) != "worktrees" {
		return nil
	}
	back, err := os.ReadFile(filepath.Join(own, "gitdir"))
	if err != nil || canonical(strings.TrimSpace(string(back))) != filepath.Join(canonical(project), ".git") {
		return nil
	}
	repository := filepath.Dir(filepath.Dir(own))
	for _, part := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(repository, part)); err != nil {
			return nil
		}
	}
	return []string{repository}
}
