package pack

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"testing"
)

func TestFilesGoInAndOut(t *testing.T) {
	for _, files := range []map[string][]byte{
		{},
		{"a.json": []byte("{}")},
		{"testdata/b.json": bytes.Repeat([]byte("x"), 300), "testdata/a.json": {}, "c": {0, 0xff}},
	} {
		encoded := EncodeFiles(files)
		got, err := DecodeFiles(encoded)
		if err != nil || !maps.EqualFunc(got, files, bytes.Equal) {
			t.Errorf("%q, %v", got, err)
		}
		if again := EncodeFiles(got); !bytes.Equal(again, encoded) {
			t.Errorf("%q, then %q", encoded, again)
		}
	}
	if EncodeFiles(nil) != nil {
		t.Error("no files have a section")
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ section, want string }{
		"a cut name":        {"\x05a", "a name at byte 0 is cut"},
		"a cut content":     {"\x01a\x02x", "the file at byte 2 is cut"},
		"no content":        {"\x01a", "the file at byte 2 is cut"},
		"a way out":         {"\x04../a\x00", `"../a" is not the path of a file`},
		"an absolute path":  {"\x02/a\x00", `"/a" is not the path of a file`},
		"the folder itself": {"\x01.\x00", `"." is not the path of a file`},
		"no name":           {"\x00\x00", `"" is not the path of a file`},
		"twice":             {"\x01a\x00\x01a\x00", `"a" stands behind "a"`},
		"not ascending":     {"\x01b\x00\x01a\x00", `"a" stands behind "b"`},
	} {
		_, err := DecodeFiles([]byte(c.section))
		if !errors.Is(err, ErrFiles) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func FuzzFiles(f *testing.F) {
	f.Add(EncodeFiles(map[string][]byte{"a": []byte("1"), "b/c": nil}))
	f.Add([]byte("\x05a"))
	f.Fuzz(func(t *testing.T, section []byte) {
		files, err := DecodeFiles(section)
		if err != nil {
			return
		}
		if again, err := DecodeFiles(EncodeFiles(files)); err != nil || !maps.EqualFunc(files, again, bytes.Equal) {
			t.Fatalf("%q, then %q, %v", files, again, err)
		}
	})
}
