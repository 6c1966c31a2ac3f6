package secret_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/plinthhost/plinth/host/secret"
)

func TestScrub(t *testing.T) {
	const text = "sk-a/b+c=d&é\"9"
	var scrubber secret.Scrubber
	scrubber.Add(secret.NewValue(text))
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	basic := base64.StdEncoding.EncodeToString([]byte("user:" + text))
	for name, form := range map[string]string{
		"plain":            text,
		"query":            url.QueryEscape(text),
		"lower case query": strings.ToLower(url.QueryEscape(text)),
		"path":             url.PathEscape(text),
		"hexadecimal":      hex.EncodeToString([]byte(text)),
		"upper case":       strings.ToUpper(hex.EncodeToString([]byte(text))),
		"base64":           base64.StdEncoding.EncodeToString([]byte(text)),
		"base64 raw":       base64.RawStdEncoding.EncodeToString([]byte(text)),
		"base64 url":       base64.URLEncoding.EncodeToString([]byte(text)),
		"JSON":             string(quoted[1 : len(quoted)-1]),
	} {
		if got := scrubber.Scrub("before " + form + " after"); got != "before [secret] after" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := scrubber.Scrub("Authorization: Basic " + basic); strings.Contains(got, basic[8:len(basic)-4]) || !strings.Contains(got, "[secret]") {
		t.Errorf("inside base64: %q of %q", got, basic)
	}
	if got := scrubber.Scrub("nothing to hide"); got != "nothing to hide" {
		t.Error(got)
	}
}

func TestScrubKnowsSeveral(t *testing.T) {
	var scrubber secret.Scrubber
	if got := scrubber.Scrub("abcdefgh"); got != "abcdefgh" {
		t.Error(got)
	}
	for _, text := range []string{"abcd", "abcdefgh", "abcd", "xy", ""} {
		scrubber.Add(secret.NewValue(text))
	}
	scrubber.Add(secret.Value{})
	// The longer one goes whole; what is too short to be a secret stays.
	if got := scrubber.Scrub("abcdefgh abcd xy"); got != "[secret] [secret] xy" {
		t.Error(got)
	}
}

// TestScrubAnywhereInBase64 looks at what is left of a secret that was encoded
// together with what stands around it.
func TestScrubAnywhereInBase64(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zA-Z0-9_/+-]{12,40}`).Draw(t, "secret")
		before := rapid.StringMatching(`[a-z:]{0,9}`).Draw(t, "before")
		after := rapid.StringMatching(`[a-z:]{0,9}`).Draw(t, "after")
		var scrubber secret.Scrubber
		scrubber.Add(secret.NewValue(text))
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
