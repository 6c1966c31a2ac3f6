package trust

import (
	"fmt"
	"slices"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
)

// UnknownKeyError is a grant of what the manifest does not ask for.
type UnknownKeyError struct {
	Plugin string
	Key    string
	Known  []string
}

func (e *UnknownKeyError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("grant %q: the plugin %s asks for nothing", clean(e.Key), e.Plugin)
	}
	return fmt.Sprintf("grant %q: the plugin %s asks for no such thing; it asks for %s", clean(e.Key), e.Plugin, clean(listed(e.Known)))
}

// Narrow answers the manifest with only the requests whose keys are granted. The keys
// of what is left may differ: those of the whole manifest count. A key that it does not
// have is an *UnknownKeyError.
func Narrow(m abi.Manifest, grants []string) (abi.Manifest, error) {
	requests := Requests(m)
	if err := known(m, grants); err != nil {
		return abi.Manifest{}, err
	}
	narrow := abi.ManifestRequest{}
	next := 0 // the requests stand in the order of the manifest's tables
	granted := func() bool {
		next++
		return slices.Contains(grants, requests[next-1].Key)
	}
	for _, one := range m.Request.HTTP {
		if granted() {
			narrow.HTTP = append(narrow.HTTP, one)
		}
	}
	for _, one := range m.Request.Secrets {
		if granted() {
			narrow.Secrets = append(narrow.Secrets, one)
		}
	}
	for _, one := range m.Request.FS {
		if granted() {
			narrow.FS = append(narrow.FS, one)
		}
	}
	if m.Request.KV != nil && granted() {
		narrow.KV = m.Request.KV
	}
	if m.Request.Process != nil && granted() {
		narrow.Process = m.Request.Process
	}
	if asked := m.Request.Session; asked != nil {
		var operations []string
		for _, operation := range asked.Operations {
			if granted() {
				operations = append(operations, operation)
			}
		}
		if len(operations) > 0 {
			narrow.Session = &abi.ManifestSession{Operations: operations, Reason: asked.Reason}
		}
	}
	m.Request = narrow
	return m, nil
}

// Withheld are the requests of the manifest that are not granted. A key that it does
// not have is an *UnknownKeyError.
func Withheld(m abi.Manifest, grants []string) ([]Request, error) {
	if err := known(m, grants); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(Requests(m), func(one Request) bool { return slices.Contains(grants, one.Key) }), nil
}

func known(m abi.Manifest, grants []string) error {
	keys := Keys(m)
	for _, key := range grants {
		if !slices.Contains(keys, key) {
			return &UnknownKeyError{Plugin: m.ID, Key: key, Known: keys}
		}
	}
	return nil
}

// Missing is an operation that a plugin requires and that its grants do not give.
type Missing struct {
	Operation string `json:"operation"`
	// Keys are requests of the manifest, one of which would give it.
	Keys []string `json:"keys"`
}

// Unmet lists what the manifest requires and asks for, and what the grants leave out.
func Unmet(m abi.Manifest, grants []string) []Missing {
	var unmet []Missing
	requests := Requests(m)
	for _, operation := range m.Requires {
		missing := Missing{Operation: operation}
		given := false
		for _, request := range requests {
			if request.Gives(operation) {
				missing.Keys = append(missing.Keys, request.Key)
				given = given || slices.Contains(grants, request.Key)
			}
		}
		if !given && len(missing.Keys) > 0 {
			unmet = append(unmet, missing)
		}
	}
	return unmet
}

// String says it in a sentence.
func (m Missing) String() string {
	return clean(fmt.Sprintf("it cannot do without %s; grant %s", m.Operation, strings.Join(m.Keys, " or ")))
}

// Gives reports whether the request lets a plugin use a host operation at all.
func (r RequestRecord) Gives(operation string) bool {
	family, _, _ := strings.Cut(operation, ".")
	switch r.Kind {
	case KindHTTP, KindKV, KindProcess:
		return family == string(r.Kind)
	case KindFS:
		return family == string(KindFS) && (operation != abi.OpFSCommit || r.Access == accessWrite)
	case KindSession:
		return operation == r.Operation
	}
	return false
}

// Refusal is what a plugin is told that uses what it asked for and was not granted.
func Refusal(plugin, key string) string {
	return fmt.Sprintf("the operator did not grant %s; to grant it: plinth plugin approve %s --grant %s", key, plugin, shellWord(key))
}

// shellWord writes a key as one word of a command line.
func shellWord(key string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(":/._,%+=#~-", r)
	}
	if strings.ContainsFunc(key, func(r rune) bool { return !plain(r) }) {
		return "'" + strings.ReplaceAll(key, "'", `'\''`) + "'"
	}
	return key
}
