package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestReadsAnObjectInOnePass(t *testing.T) {
	const data = ` { "a" : "x\ny" , "b":[1, -2, 3.9e0],"c":{"d":null,"skip":[{"deep":"\u00e9"}]},"e":true,"f":"\ud83d\ude00 \ud83d" } `
	var a, f, d string
	var numbers []int64
	var e bool
	r := NewReader([]byte(data))
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		switch key {
		case "a":
			a = r.String()
		case "b":
			for r.Array(); r.More(); {
				numbers = append(numbers, r.Int())
			}
		case "c":
			for r.Object(); ; {
				inner, ok := r.Next()
				if !ok {
					break
				}
				if inner == "d" {
					d = r.String()
					continue
				}
				if raw := string(r.Raw()); raw != `[{"deep":"\u00e9"}]` {
					t.Errorf("Raw = %q", raw)
				}
			}
		case "e":
			e = r.Bool()
		case "f":
			f = r.String()
		default:
			t.Errorf("unexpected key %q", key)
			r.Skip()
		}
	}
	if !r.End() {
		t.Fatal(r.Err())
	}
	if a != "x\ny" || d != "" || !e || f != "😀 \ufffd" {
		t.Errorf("a=%q d=%q e=%v f=%q", a, d, e, f)
	}
	if len(numbers) != 3 || numbers[0] != 1 || numbers[1] != -2 || numbers[2] != 3 {
		t.Errorf("numbers = %v", numbers)
	}
}

func TestWrongTypesStopTheReader(t *testing.T) {
	for data, read := range map[string]func(r *Reader){
		`1`:                    func(r *Reader) { r.Object() },
		`{}`:                   func(r *Reader) { r.Array() },
		`{"a":1}`:              func(r *Reader) { r.Object(); r.Next(); _ = r.String() },
		`"t"`:                  func(r *Reader) { r.Bool() },
		`"1"`:                  func(r *Reader) { r.Int() },
		`1e99`:                 func(r *Reader) { r.Int() },
		`1e999`:                func(r *Reader) { r.Float() },
		`{}` + " ":             func(r *Reader) { r.Float() },
		`[{"a" 1}]`:            func(r *Reader) { r.Skip() },
		`[{1:1}]`:              func(r *Reader) { r.Skip() },
		`9223372036854775808`:  func(r *Reader) { r.Int() },
		`null null`:            func(r *Reader) { r.Skip(); r.End() },
		strings.Repeat("[", 9): func(r *Reader) { r.Skip() },
	} {
		r := NewReader([]byte(data))
		read(&r)
		if !errors.Is(r.Err(), ErrSyntax) {
			t.Errorf("%s: error %v", data, r.Err())
		}
		if _, ok := r.Next(); ok || r.String() != "" || r.Int() != 0 || r.More() {
			t.Errorf("%s: a stopped reader still answers", data)
		}
	}
}

func TestNullIsTheZeroOfEverything(t *testing.T) {
	r := NewReader([]byte(`[null,null,null,null,null,{"a":null,"b":7}]`))
	r.Array()
	for i := 0; r.More(); i++ {
		switch i {
		case 0:
			for r.Object(); ; {
				if _, ok := r.Next(); !ok {
					break
				}
				t.Error("null has a member")
			}
		case 1:
			for r.Array(); r.More(); {
				t.Error("null has an element")
			}
		case 2, 3, 4:
			if r.String() != "" {
				t.Error("null is a text")
			}
		case 5:
			sum := int64(0)
			for r.Object(); ; {
				if _, ok := r.Next(); !ok {
					break
				}
				sum += r.Int()
			}
			if sum != 7 {
				t.Errorf("sum %d", sum)
			}
		}
	}
	if !r.End() {
		t.Error(r.Err())
	}
}

func TestSkipIsBounded(t *testing.T) {
	deep := strings.Repeat("[", maxDepth+2) + strings.Repeat("]", maxDepth+2)
	r := NewReader([]byte(deep))
	r.Skip()
	if r.Err() == nil {
		t.Error("no error")
	}
}

func FuzzAgreesWithEncodingJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5e-3,"x\u00e9\ud83d\ude00\ud800",true,false,null]}`, `[]`, `{}`, `"\q"`, `[1,]`, `{"a"}`, `{"a":1,}`, `{,}`, `01`, `-`, `1.`, `1e`, "\"\x01\"", "\"\xff\"", `nul`, `[`, `"`, `{"a":1}}`, ` 1 `, `"\ud83d\u0041"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > maxDepth {
			return
		}
		r := NewReader(data)
		r.Skip()
		valid := r.End()
		if want := json.Valid(data); valid != want {
			t.Fatalf("valid = %v, encoding/json says %v (%v)", valid, want, r.Err())
		}
		var want string
		if !valid || json.Unmarshal(data, &want) != nil {
			return
		}
		r = NewReader(data)
		if got := r.String(); got != want {
			t.Fatalf("String = %q, want %q", got, want)
		}
	})
}

// The writer makes the very bytes of encoding/json.
func FuzzAppendsAsEncodingJSON(f *testing.F) {
	for i, seed := range []string{
		"", "plain", "\x00\b\f\n\r\t\x1f \x7f\"\\/<>&", "é😀\u2028\u2029\u2027\ufffd", "\xff\xe2\x80", "1234567\n", "12345678\"", "123456789abcdef\\", "1234567é\x01",
	} {
		f.Add(seed, [...]float64{0, -0.5, 1e-7, 1e21, 123456789, 1e-300, 2.5e-10, 1e20, 1.0 / 3}[i])
	}
	f.Fuzz(func(t *testing.T, s string, number float64) {
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(s); err != nil {
			t.Fatal(err)
		}
		if got := AppendString(nil, s); string(got)+"\n" != want.String() {
			t.Errorf("AppendString(%q) = %s, want %s", s, got, want.Bytes())
		}
		encoded, err := json.Marshal(number)
		if err != nil {
			encoded = []byte("null")
		}
		if got := AppendFloat(nil, number); string(got) != string(encoded) {
			t.Errorf("AppendFloat(%v) = %s, want %s", number, got, encoded)
		}
		r := NewReader(encoded)
		if got := r.Float(); err == nil && (got != number || !r.End()) {
			t.Errorf("Float of %s is %v, %v", encoded, got, r.Err())
		}
	})
}

// Every length and place of a byte that is not plain, against the plain loop.
func TestPlainRun(t *testing.T) {
	for length := range 20 {
		for at := range length + 1 {
			for c := range 256 {
				text := []byte(strings.Repeat("z", length) + "\x00\xff")
				if at < length {
					text[at] = byte(c)
				}
				want := 0
				for want < length && plain(text[want]) {
					want++
				}
				if got := plainRun(text[:length]); got != want {
					t.Fatalf("plainRun(%q) = %d, want %d", text[:length], got, want)
				}
			}
		}
	}
}

func TestNullIsTold(t *testing.T) {
	r := NewReader([]byte(`[null,1.5,"x"]`))
	r.Array()
	if !r.More() || !r.Null() || !r.More() || r.Null() || r.Float() != 1.5 || !r.More() || r.Null() || r.String() != "x" || r.More() || !r.End() {
		t.Error(r.Err())
	}
}

func TestAppend(t *testing.T) {
	dst := AppendIntField(AppendStringField(AppendStringField([]byte("{"), "a", "1\x00\xff\u2028"), "empty", ""), "n", 7)
	if got, want := string(dst)+"}", `{"a":"1\u0000\ufffd\u2028","n":7}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
