package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Scrubber takes the secrets that are known out of texts. It answers its argument where
// there are none.
type Scrubber interface {
	Scrub(text string) string
}

// Redaction says what a golden must not hold.
type Redaction struct {
	Scrubber Scrubber // nil for none
	// Home is the user's home folder; empty for none.
	Home string
	// Patterns are the author's own.
	Patterns []*regexp.Regexp
}

// Replaced counts what was replaced, by what it was.
type Replaced map[string]int

// String lists it in the order of the names.
func (r Replaced) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		all = append(all, fmt.Sprintf("%d × %s", r[name], name))
	}
	return strings.Join(all, ", ")
}

// rule replaces what it finds by a text.
type rule struct {
	name string
	find *regexp.Regexp
	with string
}

// named is what a secret is called: in a setting, a header or a member, alone or as the end
// of a longer name like DB_PASSWORD, clientSecret or X-Api-Key.
const named = `[A-Za-z0-9_-]*(?:api[_-]?key|(?:access|private|secret|signing)[_-]?key|token|secret|password|passwd|pwd|passphrase|authorization|cookie)`

// namedMember is the name of a member that holds a secret.
var namedMember = regexp.MustCompile(`(?i)^` + named + `$`)

// minMember is how many bytes a text in such a member, or between quotes, has at least.
const minMember = 4

// tokens are what secrets look like: those of services by themselves, any by its name.
func tokens() []rule {
	rules := []rule{
		{"bearer token", regexp.MustCompile(`(?i)\b(bearer|basic) [A-Za-z0-9._~+/-]{12,}=*`), mark},
		{"JWT", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]*)?`), mark},
		{"password in a URL", regexp.MustCompile(`://[^/\s:@"']*:[^/\s@"']+@`), "://" + mark + "@"},
		{"private key", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)`), mark},
		{"secret in a query", regexp.MustCompile(`(?i)([?&](?:key|sig|signature|` + named + `)=)[^&\s"'#]{6,}`), "${1}" + mark},
		{"token", regexp.MustCompile(`\b(sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}|` +
			`\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\b(AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{35}|\bnpm_[A-Za-z0-9]{30,}|\bhf_[A-Za-z0-9]{30,}`), mark},
	}
	for _, pattern := range []string{
		`(?im)(^\s*(?:(?:set-)?cookie|(?:proxy-)?authorization)\s*:\s*)[^\s"'][^\r\n]*`, // a header, to the end of its line
		`(?i)(` + named + `\\+["']\s*[:=]\s*\\+["'])[^"'\\]{4,}`,                        // JSON in JSON
		`(?i)(` + named + `["']?\s*[:=]\s*")(?:[^"\\]|\\.){4,}`,
		`(?i)(` + named + `["']?\s*[:=]\s*')(?:[^'\\]|\\.){4,}`,
		`(?i)(` + named + `["']?\s*[:=]\s*(?:(?:apikey|digest|token) +)?)[^\s"',;&}\\]{6,}`,
	} {
		rules = append(rules, rule{"secret in a setting", regexp.MustCompile(pattern), "${1}" + mark})
	}
	return rules
}

// mark stands where something was taken out.
const mark = "[redacted]"

// scrubbed stands where the host has taken a secret out.
const scrubbed = "[secret]"

// homes are home folders of anybody.
var homes = regexp.MustCompile(`(/home|/Users)/[^/\s"'\\:]+`)

// The folders that stand for the user's own.
const (
	homeMark    = "/home/user"
	projectMark = "/project"
)

// redactor redacts the parts of one golden alike.
type redactor struct {
	scrubber Scrubber
	folders  []folder // the longest first
	rules    []rule
	learned  []string // the longest first
	replaced Replaced
}

type folder struct{ name, path, with string }

// newRedactor knows the project of the call besides what it is told.
func newRedactor(redaction Redaction, project []string) *redactor {
	r := &redactor{scrubber: redaction.Scrubber, rules: tokens(), replaced: Replaced{}}
	for _, path := range project {
		r.folder("project folder", path, projectMark)
	}
	r.folder("home folder", redaction.Home, homeMark)
	slices.SortStableFunc(r.folders, func(a, b folder) int { return len(b.path) - len(a.path) })
	for _, pattern := range redaction.Patterns {
		r.rules = append(r.rules, rule{"match of " + pattern.String(), pattern, mark})
	}
	return r
}

func (r *redactor) folder(name, path, with string) {
	if len(path) > 1 && path[0] == '/' && !slices.ContainsFunc(r.folders, func(f folder) bool { return f.path == path }) {
		r.folders = append(r.folders, folder{name, strings.TrimRight(path, "/"), with})
	}
}

// text redacts a text.
func (r *redactor) text(text string) string {
	if r.scrubber != nil {
		if clean := r.scrubber.Scrub(text); clean != text {
			r.replaced["secret of the configuration"]++
			text = clean
		}
	}
	for _, one := range r.folders {
		text = r.path(text, one)
	}
	text = r.all(text, rule{"home folder", homes, homeMark}, homeMark)
	for _, one := range r.rules {
		text = r.all(text, one, mark)
	}
	for _, secret := range r.learned {
		if n := strings.Count(text, secret); n > 0 {
			r.replaced["secret that was found"] += n
			text = strings.ReplaceAll(text, secret, mark)
		}
	}
	return text
}

// path replaces a folder where its name ends there.
func (r *redactor) path(text string, one folder) string {
	var made strings.Builder
	for {
		at := strings.Index(text, one.path)
		if at < 0 {
			return made.String() + text
		}
		end := at + len(one.path)
		made.WriteString(text[:at])
		if next, _ := utf8.DecodeRuneInString(text[end:]); end < len(text) && (next == '-' || next == '_' || next == '.' || next > ' ' && isWord(next)) {
			made.WriteString(text[at:end])
		} else {
			made.WriteString(one.with)
			r.replaced[one.name]++
		}
		text = text[end:]
	}
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 0x7f
}

// all applies a rule. What was replaced before stays.
func (r *redactor) all(text string, one rule, done string) string {
	return one.find.ReplaceAllStringFunc(text, func(found string) string {
		with := one.find.ReplaceAllString(found, one.with)
		if found == "" || with == found || found == done || marked(found) {
			return found
		}
		r.replaced[one.name]++
		if prefix, is := strings.CutSuffix(with, mark); is {
			r.learn(strings.TrimPrefix(found, prefix))
		}
		return with
	})
}

// marked reports whether a secret was taken out of the end of a text.
func marked(text string) bool {
	return strings.HasSuffix(text, mark) || strings.HasSuffix(text, scrubbed)
}

// minLearned is how many bytes a secret has that is looked for without its name: a shorter
// one may be a word.
const minLearned = 12

// learn has a secret that was found be taken out wherever else it stands.
func (r *redactor) learn(secret string) {
	if len(secret) >= minLearned && !slices.Contains(r.learned, secret) {
		r.learned = append(r.learned, secret)
		slices.SortFunc(r.learned, func(a, b string) int { return len(b) - len(a) })
	}
}

// bytes redacts raw bytes and keeps their number: offsets into them stand elsewhere. What
// is replaced may come out longer or shorter; then x's stand there in its place.
func (r *redactor) bytes(raw []byte) []byte {
	clean := []byte(r.text(string(raw)))
	if len(clean) == len(raw) {
		return clean
	}
	if len(clean) > len(raw) {
		return clean[:len(raw)]
	}
	return append(clean, bytes.Repeat([]byte("x"), len(raw)-len(clean))...)
}

// json redacts the texts in a JSON value, names of members included; their order and the
// numbers stay as they were written.
func (r *redactor) json(value []byte) (json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var made bytes.Buffer
	if err := r.value(decoder, &made, false); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more behind the JSON value")
	}
	return made.Bytes(), nil
}

// value redacts a value; secret is one whose name says that its texts are.
func (r *redactor) value(decoder *json.Decoder, to *bytes.Buffer, secret bool) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		return r.nested(decoder, to, token, secret)
	case string:
		if secret && len(token) >= minMember && !marked(token) {
			r.replaced["secret in a setting"]++
			r.learn(token)
			return quote(to, mark)
		}
		return quote(to, r.text(token))
	case json.Number:
		to.WriteString(token.String())
	case bool:
		fmt.Fprint(to, token)
	default:
		to.WriteString("null")
	}
	return nil
}

// nested redacts an object, or a list of what is secret or is not.
func (r *redactor) nested(decoder *json.Decoder, to *bytes.Buffer, open json.Delim, secret bool) error {
	to.WriteString(open.String())
	for n := 0; decoder.More(); n++ {
		if n > 0 {
			to.WriteByte(',')
		}
		if open == '{' {
			token, err := decoder.Token()
			if err != nil {
				return err
			}
			name := token.(string)
			if err := quote(to, r.text(name)); err != nil {
				return err
			}
			to.WriteByte(':')
			secret = namedMember.MatchString(name)
		}
		if err := r.value(decoder, to, secret); err != nil {
			return err
		}
	}
	end, err := decoder.Token()
	if err != nil {
		return err
	}
	to.WriteString(end.(json.Delim).String())
	return nil
}

// quote writes a text as JSON, with < and & as they are.
func quote(to *bytes.Buffer, text string) error {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return err
	}
	to.Truncate(to.Len() - 1)
	return nil
}
