package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/plinthhost/plinth/host/secret"
)

func knowing(values ...string) *secret.Scrubber {
	var scrubber secret.Scrubber
	for _, value := range values {
		scrubber.Add(secret.NewValue(value))
	}
	return &scrubber
}

// written are the ways a secret is looked for, by name.
func written(t *testing.T, text string) map[string]string {
	t.Helper()
	quoted := func(text string, html bool) string {
		var b strings.Builder
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(html)
		if err := encoder.Encode(text); err != nil {
			t.Fatal(err)
		}
		return strings.Trim(strings.TrimSuffix(b.String(), "\n"), `"`)
	}
	data := []byte(text)
	return map[string]string{
		"plain":               text,
		"query":               url.QueryEscape(text),
		"lower case query":    lowered(url.QueryEscape(text)),
		"path":                url.PathEscape(text),
		"component":           strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(text), "%2A", "*"), "+", "%20"),
		"hexadecimal":         hex.EncodeToString(data),
		"upper case":          strings.ToUpper(hex.EncodeToString(data)),
		"base64":              base64.StdEncoding.EncodeToString(data),
		"base64 raw":          base64.RawStdEncoding.EncodeToString(data),
		"base64 url":          base64.URLEncoding.EncodeToString(data),
		"base64 url raw":      base64.RawURLEncoding.EncodeToString(data),
		"JSON":                quoted(text, false),
		"JSON for HTML":       quoted(text, true),
		"JSON with slashes":   strings.ReplaceAll(quoted(text, false), "/", `\/`),
		"JSON in JSON":        quoted(quoted(text, false), false),
		"JSON HTML in JSON":   quoted(quoted(text, true), true),
		"JSON in ASCII":       strings.ReplaceAll(strings.ReplaceAll(quoted(text, true), "é", `\u00e9`), "😀", `\ud83d\ude00`),
		"JSON in upper ASCII": strings.ReplaceAll(strings.ReplaceAll(quoted(text, false), "é", `\u00E9`), "😀", `\uD83D\uDE00`),
	}
}

func lowered(escaped string) string {
	parts := strings.Split(escaped, "%")
	for i, part := range parts[1:] {
		parts[i+1] = strings.ToLower(part[:2]) + part[2:]
	}
	return strings.Join(parts, "%")
}

const awkward = "sk-a/b+c=d&é\"9*\\ 😀<"

func TestScrub(t *testing.T) {
	scrubber := knowing(awkward)
	for name, form := range written(t, awkward) {
		if got := scrubber.Scrub("before " + form + " after"); got != "before [secret] after" {
			t.Errorf("%s: %q", name, got)
		}
		if got := string(scrubber.ScrubBytes([]byte("before " + form + " after"))); got != "before [secret] after" {
			t.Errorf("%s in bytes: %q", name, got)
		}
	}
	basic := base64.StdEncoding.EncodeToString([]byte("user:" + awkward))
	if got := scrubber.Scrub("Authorization: Basic " + basic); strings.Contains(got, basic[8:len(basic)-4]) || !strings.Contains(got, "[secret]") {
		t.Errorf("inside base64: %q of %q", got, basic)
	}
	plain := []byte("nothing to hide")
	if got := scrubber.ScrubBytes(plain); &got[0] != &plain[0] || scrubber.Scrub(string(plain)) != string(plain) {
		t.Errorf("%q", got)
	}
}

func TestScrubKnowsSeveral(t *testing.T) {
	const text = "abcdefgh abcdefghijkl xy-short"
	if got := knowing().Scrub(text); got != text {
		t.Error(got)
	}
	scrubber := knowing("abcdefgh", "abcdefghijkl", "abcdefgh", "")
	for short, want := range map[string]bool{"xy-shor": false, "": false, "EMPTY": false, "xy-enough": true} {
		if got := scrubber.Add(secret.NewValue(short)); got != want {
			t.Errorf("%q: Add answers %v", short, got)
		}
	}
	if scrubber.Add(secret.Value{}) {
		t.Error("no secret was added")
	}
	// The longer one goes whole; what is too short to be a secret stays.
	if got := scrubber.Scrub(text); got != "[secret] [secret] xy-short" {
		t.Error(got)
	}
}

func TestScrubOverlaps(t *testing.T) {
	for _, test := range []struct {
		values         []string
		text, scrubbed string
	}{
		{[]string{"abcdefgh", "efghijkl"}, "<abcdefghijkl>", "<[secret]>"},
		{[]string{"abcdefgh", "efghijkl"}, "<abcdefghefghijkl>", "<[secret][secret]>"},
		{[]string{"abababab"}, "<ababababababab>b", "<[secret]>b"},
		{[]string{"abcdefghXYZ", "efghXYZW1234"}, "abcdefghXYZW1234", "[secret]"},
		{[]string{"abcdefghij", "defghijk"}, "abcdefghijk abcdefghi", "[secret] [secret]"},
		// What the end cuts off goes from eight bytes on.
		{[]string{"abcdefghij"}, "x abcdefgh", "x [secret]"},
		{[]string{"abcdefghij"}, "x abcdefg", "x abcdefg"},
		{[]string{"abcdefghij"}, "x abcdefghx", "x abcdefghx"},
	} {
		if got := knowing(test.values...).Scrub(test.text); got != test.scrubbed {
			t.Errorf("%q without %q: %q, want %q", test.text, test.values, got, test.scrubbed)
		}
	}
}

// TestScrubForgetsTheOldest: 257 values, the first used again meanwhile.
func TestScrubForgetsTheOldest(t *testing.T) {
	var scrubber secret.Scrubber
	for i := range 256 {
		scrubber.Add(secret.NewValue(fmt.Sprintf("secret-number-%03d", i)))
	}
	scrubber.Add(secret.NewValue("secret-number-000"))
	scrubber.Add(secret.NewValue("secret-number-256"))
	for i, want := range map[int]string{0: "[secret]", 1: "secret-number-001", 2: "[secret]", 256: "[secret]"} {
		if got := scrubber.Scrub(fmt.Sprintf("secret-number-%03d", i)); got != want {
			t.Errorf("%d: %q", i, got)
		}
	}
}

// TestScrubAnywhereInBase64 looks at what is left of a secret that was encoded
// together with what stands around it.
func TestScrubAnywhereInBase64(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zA-Z0-9_/+-]{8,40}`).Draw(t, "secret")
		before := rapid.StringMatching(`[a-z:]{0,9}`).Draw(t, "before")
		after := rapid.StringMatching(`[a-z:]{0,9}`).Draw(t, "after")
		scrubber := knowing(text)
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			encoded := encoding.EncodeToString([]byte(before + text + after))
			got := scrubber.Scrub(encoded)
			if !strings.Contains(got, "[secret]") {
				t.Fatalf("%q stays %q", encoded, got)
			}
			for piece := range strings.SplitSeq(got, "[secret]") {
				if len(piece) > 4*(len(before)+len(after))/3+8 {
					t.Fatalf("%q leaves %q", encoded, piece)
				}
			}
		}
	})
}

// TestScrubAgrees compares the search with looking for every form at every place,
// and the stream with the whole.
func TestScrubAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.StringMatching(`[ab/]{8,12}`), 1, 3).Draw(t, "secrets")
		text := rapid.StringMatching(`[ab/]{0,20}(x[ab/]{0,30}){0,4}`).Draw(t, "text")
		scrubber := knowing(values...)
		want := slowly(values, text)
		if got := scrubber.Scrub(text); got != want {
			t.Fatalf("%q without %q: %q, want %q", text, values, got, want)
		}
		read, err := io.ReadAll(scrubber.Reader(iotest.HalfReader(strings.NewReader(text))))
		if err != nil || string(read) != want {
			t.Fatalf("read %q, %v; want %q", read, err, want)
		}
		var out bytes.Buffer
		writer := scrubber.Writer(&out)
		for len(text) > 0 {
			n := rapid.IntRange(0, len(text)).Draw(t, "piece")
			if _, err := writer.Write([]byte(text[:n])); err != nil {
				t.Fatal(err)
			}
			text = text[n:]
		}
		if err := writer.Close(); err != nil || out.String() != want {
			t.Fatalf("wrote %q, %v; want %q", out.String(), err, want)
		}
	})
}

// slowly looks at every place for every value; their other forms do not occur in
// the text.
func slowly(values []string, text string) string {
	var b strings.Builder
	until := 0 // of what was taken out
	for at := range text {
		length := 0
		for _, value := range values {
			if rest := text[at:]; len(rest) >= secret.MinScrub && strings.HasPrefix(value, rest) {
				length = len(rest)
			} else if strings.HasPrefix(rest, value) {
				length = max(length, len(value))
			}
		}
		if length > 0 && at >= until {
			b.WriteString("[secret]")
		}
		if length > 0 {
			until = max(until, at+length)
		}
		if at >= until {
			b.WriteByte(text[at])
		}
	}
	return b.String()
}

func TestStreamInEveryPiece(t *testing.T) {
	scrubber := knowing(awkward, "second-secret")
	for name, form := range written(t, awkward) {
		text := "sk-a " + form + " second-secreT second-secret" + form + " sk-"
		want := "sk-a [secret] second-secreT [secret][secret] sk-"
		for size := 1; size <= len(text); size++ {
			got, err := io.ReadAll(scrubber.Reader(&pieces{text: text, size: size}))
			if err != nil || string(got) != want {
				t.Fatalf("%s in pieces of %d: %q, %v", name, size, got, err)
			}
		}
	}
}

// pieces reads size bytes at a time.
type pieces struct {
	text string
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b[:min(p.size, len(b))], p.text)
	p.text = p.text[n:]
	return n, nil
}

// TestStreamHoldsLittle: what cannot begin a secret is there at once.
func TestStreamHoldsLittle(t *testing.T) {
	in, feed := io.Pipe()
	reader := knowing("second-secret").Reader(in)
	go func() {
		for _, piece := range []string{"data: a line\n\n", "data: se", "cond-secret\n\n"} {
			_, _ = feed.Write([]byte(piece))
		}
		feed.CloseWithError(errors.New("cut"))
	}()
	buffer := make([]byte, 100)
	for _, want := range []string{"data: a line\n\n", "data: ", "[secret]\n\n"} {
		n, err := reader.Read(buffer)
		if err != nil || string(buffer[:n]) != want {
			t.Fatalf("%q, %v; want %q", buffer[:n], err, want)
		}
	}
	if n, err := reader.Read(buffer); n != 0 || err == nil || err.Error() != "cut" {
		t.Errorf("%d, %v", n, err)
	}
}

// TestStreamLearns: a secret told in the middle of a stream is taken out from there.
func TestStreamLearns(t *testing.T) {
	var scrubber secret.Scrubber
	var out bytes.Buffer
	writer := scrubber.Writer(&out)
	for _, piece := range []string{"my-token-1 ", "my-token-1 ", "my-tok", "en-1"} {
		if _, err := writer.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
		scrubber.Add(secret.NewValue("my-token-1"))
	}
	if err := writer.Close(); err != nil || out.String() != "my-token-1 [secret] [secret]" {
		t.Errorf("%q, %v", out.String(), err)
	}
	broken := scrubber.Writer(failing{})
	if _, err := broken.Write([]byte("x")); err == nil {
		t.Error("the failure is lost")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestScrubTogether(t *testing.T) {
	var scrubber secret.Scrubber
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			text := fmt.Sprintf("secret-number-%d", i)
			scrubber.Add(secret.NewValue(text))
			if got := scrubber.Scrub(text); got != "[secret]" {
				t.Error(got)
			}
		})
	}
	group.Wait()
}
