package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
)

// Kind is what a request is for.
type Kind string

// The kinds.
const (
	KindHTTP    Kind = "http"
	KindSecret  Kind = "secret"
	KindFS      Kind = "fs"
	KindKV      Kind = "kv"
	KindProcess Kind = "process"
	KindSession Kind = "session"
)

// AnyOrigin stands for every public address that permission is asked for.
const AnyOrigin = "*"

const (
	accessRead  = "read"
	accessWrite = "write"
	// secretValue is what a secret is put in as when the manifest does not say.
	secretValue = "{secret}"
)

// RequestRecord is a request as it is compared and kept: all that it allows, and
// nothing that is only said. Fields that its kind does not have are empty.
type RequestRecord struct {
	// Key names the request within its manifest; people type it.
	Key  string `json:"key"`
	Kind Kind   `json:"kind"`

	// Of http: every combination of the three is allowed. Each is ascending.
	Origins []string `json:"origins,omitempty"`
	Methods []string `json:"methods,omitempty"`
	Paths   []string `json:"paths,omitempty"`

	// Of secret.
	Handle   string  `json:"handle,omitempty"`
	Audience string  `json:"audience,omitempty"`
	Inject   *Inject `json:"inject,omitempty"`

	// Of fs.
	Root   string `json:"root,omitempty"`
	Access string `json:"access,omitempty"` // read or write

	// Of session.
	Operation string `json:"operation,omitempty"`
}

// Inject is where a secret goes.
type Inject struct {
	Kind  string `json:"kind"`
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
}

// Request is one thing that a manifest asks for.
type Request struct {
	RequestRecord
	// Text says it in words, to follow "it wants to".
	Text string `json:"text"`
	// Reason is the author's.
	Reason string `json:"reason"`
}

// Requests are what a checked manifest asks for, each with a key of its own, in the
// order http, secret, fs, kv, process, session and within each that of the manifest.
func Requests(m abi.Manifest) []Request {
	var all []Request
	keys := map[string]int{}
	add := func(key, reason string, record RequestRecord) {
		key = short(key)
		if keys[key]++; keys[key] > 1 {
			key = fmt.Sprintf("%s#%d", key, keys[key])
		}
		record.Key = key
		all = append(all, Request{RequestRecord: record, Text: record.words(), Reason: clean(reason)})
	}
	for _, one := range m.Request.HTTP {
		record := httpRecord(one)
		add("http:"+strings.Join(record.Origins, ","), one.Reason, record)
	}
	for _, one := range m.Request.Secrets {
		add("secret:"+one.Handle, one.Reason, secretRecord(one))
	}
	for _, one := range m.Request.FS {
		add("fs:"+one.Root+":"+one.Access, one.Reason, RequestRecord{Kind: KindFS, Root: one.Root, Access: one.Access})
	}
	if m.Request.KV != nil {
		add("kv", m.Request.KV.Reason, RequestRecord{Kind: KindKV})
	}
	if m.Request.Process != nil {
		add("process", m.Request.Process.Reason, RequestRecord{Kind: KindProcess})
	}
	if m.Request.Session != nil {
		for _, operation := range m.Request.Session.Operations {
			add("session:"+operation, m.Request.Session.Reason, RequestRecord{Kind: KindSession, Operation: operation})
		}
	}
	return all
}

// Keys are those of all requests of a manifest, in the order of Requests.
func Keys(m abi.Manifest) []string {
	var keys []string
	for _, request := range Requests(m) {
		keys = append(keys, request.Key)
	}
	return keys
}

// Records are the requests as an Approval keeps them.
func Records(m abi.Manifest) []RequestRecord {
	var records []RequestRecord
	for _, request := range Requests(m) {
		records = append(records, request.RequestRecord)
	}
	return records
}

// maxKey is how many bytes of a key are written out.
const maxKey = 200

// short cuts a key that nobody would type, and has the end of it in a digest.
func short(key string) string {
	if len(key) <= maxKey {
		return key
	}
	digest := sha256.Sum256([]byte(key))
	return key[:maxKey] + "~" + hex.EncodeToString(digest[:6])
}

func httpRecord(asked abi.ManifestHTTP) RequestRecord {
	origins := make([]string, len(asked.Origins))
	for i, origin := range asked.Origins {
		origins[i] = canonicalOrigin(origin)
	}
	return RequestRecord{Kind: KindHTTP, Origins: set(origins), Methods: set(asked.Methods), Paths: set(asked.Paths)}
}

func secretRecord(asked abi.ManifestSecret) RequestRecord {
	inject := &Inject{Kind: asked.Inject.Kind, Name: asked.Inject.Name, Value: asked.Inject.Value}
	if inject.Value == "" {
		inject.Value = secretValue
	}
	return RequestRecord{Kind: KindSecret, Handle: asked.Handle, Audience: canonicalOrigin(asked.Audience), Inject: inject}
}

// set is the texts, ascending, each once.
func set(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return slices.Compact(texts)
}

// canonicalOrigin writes an origin in one way: ASCII letters small, no port that the
// scheme implies, and what is not ASCII in percent, so that no name looks like
// another. Two origins that differ never become one.
func canonicalOrigin(origin string) string {
	var out strings.Builder
	for _, b := range []byte(origin) {
		switch {
		case 'A' <= b && b <= 'Z':
			out.WriteByte(b + 'a' - 'A')
		case b <= ' ' || b >= 0x7f || b == ',' || b == '#':
			fmt.Fprintf(&out, "%%%02X", b)
		default:
			out.WriteByte(b)
		}
	}
	text := out.String()
	for scheme, port := range map[string]string{"https://": ":443", "http://": ":80"} {
		if rest, ok := strings.CutPrefix(text, scheme); ok {
			return scheme + strings.TrimSuffix(rest, port)
		}
	}
	return text
}

// words say what a request allows.
func (r RequestRecord) words() string {
	switch r.Kind {
	case KindHTTP:
		if slices.Contains(r.Origins, AnyOrigin) {
			return "fetch any public address; permission is asked for each"
		}
		return clean(fmt.Sprintf("make requests to %s by %s, on %s, without asking", listed(r.Origins), listed(r.Methods), listed(r.Paths)))
	case KindSecret:
		return clean(fmt.Sprintf("have your secret %s sent to %s, as %s %s", r.Handle, r.Audience, r.Inject.Kind, r.Inject.Name))
	case KindFS:
		what := "read"
		if r.Access == accessWrite {
			what = "read and change"
		}
		return clean(fmt.Sprintf("%s files below the root %s", what, r.Root))
	case KindKV:
		return "keep values in a store of its own"
	case KindProcess:
		return "run programs; permission is asked for each command"
	}
	return clean("use " + r.Operation + " of the session, without asking")
}

// title names a request in a line: its kind and what it is on.
func (r RequestRecord) title() string {
	switch r.Kind {
	case KindHTTP:
		return strings.TrimRight(fmt.Sprintf("http %s %s %s", strings.Join(r.Origins, ","), strings.Join(r.Methods, ","), strings.Join(r.Paths, ",")), " ")
	case KindSecret:
		return fmt.Sprintf("secret %s for %s", r.Handle, r.Audience)
	case KindFS:
		return fmt.Sprintf("fs %s %s", r.Root, r.Access)
	case KindSession:
		return "session " + r.Operation
	}
	return string(r.Kind)
}

// listed is "a", "a and b" or "a, b and c".
func listed(texts []string) string {
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	last := len(texts) - 1
	return strings.Join(texts[:last], ", ") + " and " + texts[last]
}
