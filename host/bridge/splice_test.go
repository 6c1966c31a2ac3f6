package bridge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/store"
)

// heldBlobs keeps blobs in memory.
type heldBlobs struct {
	mu    sync.Mutex
	held  map[string][]byte
	opens int
	// claimed is a size that Open tells instead of the true one, when it is not 0.
	claimed int64
}

func (h *heldBlobs) Put(_ context.Context, value []byte) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil {
		h.held = map[string][]byte{}
	}
	sum := sha256.Sum256(value)
	digest := hex.EncodeToString(sum[:])
	h.held[digest] = bytes.Clone(value)
	return digest, nil
}

func (h *heldBlobs) Get(_ context.Context, digest string) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if value, ok := h.held[digest]; ok {
		return value, nil
	}
	return nil, fmt.Errorf("blob %s: %w", digest, store.ErrNotFound)
}

type heldBlob struct{ *bytes.Reader }

func (heldBlob) Close() error { return nil }

func (h *heldBlobs) Open(ctx context.Context, digest string) (io.ReadSeekCloser, int64, error) {
	value, err := h.Get(ctx, digest)
	if err != nil {
		return nil, 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opens++
	size := int64(len(value))
	if h.claimed != 0 {
		size = h.claimed
	}
	return heldBlob{bytes.NewReader(value)}, size, nil
}

// with keeps values and answers their digests, which are named too.
func (h *heldBlobs) with(t testing.TB, values ...string) (digests []string, named map[string]bool) {
	t.Helper()
	named = map[string]bool{}
	for _, value := range values {
		digest, err := h.Put(t.Context(), []byte(value))
		if err != nil {
			t.Fatal(err)
		}
		digests, named[digest] = append(digests, digest), true
	}
	return digests, named
}

func TestSplice(t *testing.T) {
	blobs := &heldBlobs{}
	digests, named := blobs.with(t, "", "a", "bytes \x00\xff\xfb?>")
	fill := strings.NewReplacer("EMPTY", digests[0], "ONE", digests[1], "MANY", digests[2]).Replace
	for _, c := range []struct{ name, body, want string }{
		{"nothing to do", ` { "a" : [ 1.0 , "x" ] } `, ` { "a" : [ 1.0 , "x" ] } `},
		{"no body", ``, ``},
		{"base64", `{"u":{"$blob":"ONE","as":"base64"}}`, `{"u":"YQ=="}`},
		{"base64 with a type", `{"u":{"$blob":"ONE","as":"base64","mime":"image/png"}}`, `{"u":"YQ=="}`},
		{"a data URL", `{"u":{"$blob":"MANY","as":"data_url","mime":"image/svg+xml"}}`, `{"u":"data:image/svg+xml;base64,Ynl0ZXMgAP/7Pz4="}`},
		{"an empty file", `[{"$blob":"EMPTY","as":"data_url","mime":"text/plain"}]`, `["data:text/plain;base64,"]`},
		{"any order and space", "{ \"mime\" :\t\"image/png\" ,\n \"as\": \"data_url\", \"$blob\" : \"ONE\" } ", `"data:image/png;base64,YQ==" `},
		{"several, and one twice", `[{"$blob":"ONE","as":"base64"} , 1e2,{"$blob":"EMPTY","as":"base64"},{"x":{"$blob":"ONE","as":"base64"}}]`, `["YQ==" , 1e2,"",{"x":"YQ=="}]`},
		{"in a string", `{"a":"{\"$blob\":\"ONE\",\"as\":\"base64\"}"}`, `{"a":"{\"$blob\":\"ONE\",\"as\":\"base64\"}"}`},
		{"in a string behind a backslash", `{"a":"\\\\","b":"\\\"{\"$blob\":\"ONE\",\"as\":\"base64\"}"}`, `{"a":"\\\\","b":"\\\"{\"$blob\":\"ONE\",\"as\":\"base64\"}"}`},
		{"as a string", `["$blob","as",{"k":"$blob"}]`, `["$blob","as",{"k":"$blob"}]`},
		{"the key escaped", `{"\u0024blob":"ONE","as":"base64"}`, `{"\u0024blob":"ONE","as":"base64"}`},
		{"not a string", `{"properties":{"$blob":{"type":"string"},"as":{}}}`, `{"properties":{"$blob":{"type":"string"},"as":{}}}`},
		{"not named first among others", `{"role":"x","$blob":"ONE","as":"base64"}`, `{"role":"x","$blob":"ONE","as":"base64"}`},
		{"none named", `[{"as":"base64","mime":"image/png"},{"as":"x"},{"mime":""},{}]`, `[{"as":"base64","mime":"image/png"},{"as":"x"},{"mime":""},{}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := fill(c.body)
			got, err := splice(t.Context(), []byte(body), named, blobs)
			if err != nil || string(got) != fill(c.want) {
				t.Errorf("%s: %v\n got %s\nwant %s", body, err, got, c.want)
			}
		})
	}
}

func TestSpliceRefuses(t *testing.T) {
	blobs := &heldBlobs{}
	digests, named := blobs.with(t, "mine")
	other, _ := blobs.with(t, "of another request")
	lost := strings.Repeat("0a", 32)
	named[lost] = true
	fill := strings.NewReplacer("MINE", digests[0], "OTHER", other[0], "LOST", lost).Replace
	for _, c := range []struct{ name, body, want string }{
		{"a blob of another request", `{"u": {"$blob":"OTHER","as":"base64"}}`, `at byte 6 of the body: it is not the blob of a media part of this request`},
		{"no digest", `{"$blob":"","as":"base64"}`, `the blob "" at byte 0 of the body: it is not the blob`},
		{"a path", `{"$blob":"../x","as":"base64"}`, `the blob "../x" at byte 0`},
		{"no form", `{"$blob":"MINE"}`, `as is ""; it must be base64 or data_url`},
		{"another form", `{"$blob":"MINE","as":"hex"}`, `as is "hex"`},
		{"no type", `{"$blob":"MINE","as":"data_url"}`, `mime is ""; it must be like image/png`},
		{"a type that leads out of the string", `{"$blob":"MINE","as":"data_url","mime":"image/png\",\"x\":\""}`, `mime is "image/png`},
		{"a further member", `{"$blob":"MINE","as":"base64","of":"x"}`, `beside "$blob" there may be "as" and "mime"`},
		{"twice", `{"$blob":"MINE","$blob":"OTHER","as":"base64"}`, `beside "$blob" there may be`},
		{"a form that is no string", `{"$blob":"MINE","as":1}`, `beside "$blob" there may be`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := splice(t.Context(), []byte(fill(c.body)), named, blobs)
			var wrong *SpliceError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want *SpliceError with %q", err, c.want)
			}
		})
	}
	if _, err := splice(t.Context(), []byte(fill(`{"$blob":"LOST","as":"base64"}`)), named, blobs); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a blob that is gone: %v", err)
	}
}

// What would be too long is refused before any of it is made.
func TestSpliceIsBounded(t *testing.T) {
	blobs := &heldBlobs{claimed: 20 << 20}
	digests, named := blobs.with(t, "x")
	one := `{"$blob":"` + digests[0] + `","as":"base64"}`
	_, err := splice(t.Context(), []byte(`[`+one+`,`+one+`,`+one+`]`), named, blobs)
	var limit *egress.Error
	if !errors.As(err, &limit) || limit.Kind != egress.KindLimit || limit.Limit != "request_body" {
		t.Fatalf("got %v, want the limit request_body", err)
	}
	if blobs.opens != 1 {
		t.Errorf("the blob was opened %d times, want once, for its size", blobs.opens)
	}
}

// The result is made once, in its size: what is allocated beside it is small.
func TestSpliceTakesTheMemoryOnce(t *testing.T) {
	blobs := &heldBlobs{}
	digests, named := blobs.with(t, strings.Repeat("0123456789", 1<<20))
	body := []byte(`["` + strings.Repeat("text ", 1<<20) + `",{"$blob":"` + digests[0] + `","as":"base64"}]`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := splice(t.Context(), body, named, blobs)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if taken, most := after.TotalAlloc-before.TotalAlloc, uint64(len(got)+len(got)/4); taken > most {
		t.Errorf("%d bytes were allocated for a body of %d", taken, len(got))
	}
}

// FuzzSplice: whatever text surrounds a place, that alone changes; text that looks like
// one does not.
func FuzzSplice(f *testing.F) {
	f.Add("plain", "", []byte(`{"a":[{"$blob":"x","as":"base64"}]}`))
	f.Add(`{"$blob":"x","as":"base64"}`, "\\\"", []byte(`"\\\"$blob"`))
	f.Add("\"\\", "{\"$blob\"", []byte(`{"$blob":1}`))
	f.Add("\u2028<&>", "\x00\xff", []byte(`{"as":"base64","$blob":"x","mime":{}}`))
	blobs := &heldBlobs{}
	digests, named := blobs.with(f, "some bytes")
	place := `{"$blob":"` + digests[0] + `","as":"data_url","mime":"image/png"}`
	const put = `"data:image/png;base64,c29tZSBieXRlcw=="`
	f.Fuzz(func(t *testing.T, first, second string, raw []byte) {
		one, two, three := encoded(t, first), encoded(t, second), encoded(t, place+first+place)
		form := `[%[1]s,%[4]s,{%[2]s:%[4]s,"x":[{"y":%[3]s},%[4]s]},%[3]s]`
		got, err := splice(t.Context(), fmt.Appendf(nil, form, one, two, three, place), named, blobs)
		if want := fmt.Sprintf(form, one, two, three, put); err != nil || string(got) != want {
			t.Fatalf("%v\n got %s\nwant %s", err, got, want)
		}
		if !json.Valid(raw) {
			return
		}
		got, err = splice(t.Context(), raw, named, blobs)
		var wrong *SpliceError
		switch {
		case err != nil && !errors.As(err, &wrong):
			t.Fatalf("%s: %v", raw, err)
		case err == nil && !json.Valid(got):
			t.Fatalf("%s became %s", raw, got)
		case err == nil && !bytes.Contains(raw, []byte(digests[0])) && !bytes.Equal(got, raw):
			t.Fatalf("%s became %s", raw, got)
		}
		safe := nameless(raw)
		if places, err := blobTexts(safe); err != nil || len(places) > 0 || !sameValue(t, raw, safe) {
			t.Fatalf("%s became %s, in which there are %d places, %v", raw, safe, len(places), err)
		}
	})
}

func sameValue(t *testing.T, a, b []byte) bool {
	t.Helper()
	var left, right any
	for text, into := range map[*[]byte]*any{&a: &left, &b: &right} {
		decoder := json.NewDecoder(bytes.NewReader(*text))
		decoder.UseNumber()
		if err := decoder.Decode(into); err != nil {
			t.Fatalf("%s: %v", *text, err)
		}
	}
	return reflect.DeepEqual(left, right)
}

// base64Of is pieces of which any base64 of the data holds one, wherever it begins.
func base64Of(data []byte) []string {
	var pieces []string
	for shift := range 3 {
		pieces = append(pieces, base64.StdEncoding.EncodeToString(data[100+shift:130+shift]))
	}
	return pieces
}
