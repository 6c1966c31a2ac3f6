package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// maxName is how long a tool's name may be.
const maxName = 64

// taken are names that mean something else as an action of a rule, or as a tool.
var taken = [...]string{"external_directory", "doom_loop", findName, callName}

// names answers the model's names of a server's tools, by the server's own. A name that
// had to be changed, or that another has, ends with a part of the digest of the server's:
// whatever the order of the tools, each has the same name.
func names(server string, tools []string) map[string]string {
	count := map[string]int{}
	for _, tool := range tools {
		count[plain(server, tool)]++
	}
	all := make(map[string]string, len(tools))
	for _, tool := range tools {
		name := plain(server, tool)
		if name != server+"_"+tool || count[name] > 1 || len(name) > maxName || slices.Contains(taken[:], name) {
			digest := sha256.Sum256([]byte(tool))
			name = name[:min(len(name), maxName-7)] + "_" + hex.EncodeToString(digest[:3])
		}
		all[tool] = name
	}
	return all
}

// plain is a name of the characters that all models' providers take.
func plain(server, tool string) string {
	return server + "_" + strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, tool)
}

// chosen reports whether the operator wants a tool.
func (s Server) chosen(tool string) bool {
	has := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, tool) })
	}
	return (len(s.Allow) == 0 || has(s.Allow)) && !has(s.Deny)
}

// matches holds a name to a pattern: * is anything, ? one byte.
func matches(pattern, name string) bool {
	star, mark := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p, n = p+1, n+1
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
