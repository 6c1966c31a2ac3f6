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
		var back string
		if err := json.Unmarshal(AppendString(nil, want), &back); err != nil || back != want {
			t.Fatalf("AppendString: %q, %v; want %q", back, err, want)
		}
	})
}

func TestAppend(t *testing.T) {
	dst := AppendIntField(AppendStringField(AppendStringField([]byte("{"), "a", "1\x00\xff\u2028"), "empty", ""), "n", 7)
	if got, want := string(dst)+"}", `{"a":"1\u0000`+"\ufffd\u2028"+`","n":7}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
