package expand

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFill(t *testing.T) {
	for _, c := range []struct{ template, arguments, want string }{
		{"plain", "", "plain"},
		{"plain", "and more", "plain\n\nand more"},
		{"all: $ARGUMENTS.", `a "b c"`, `all: a "b c".`},
		{"$1|$2|$3", `a "b c"`, "a|b c|"},
		{"$2", "a", ""},
		{"$10 $0 $$1", "a", "$10 $0 $a"},
		{`\$1 costs \$ARGUMENTS $1`, "a", "$1 costs $ARGUMENTS a"},
		{"see @$1", "main.go", "see @main.go"},
		{"$1", "$2 !`rm`", "$2"},
		{"$ARGUMENTS", "$1 !`rm`", "$1 !`rm`"},
		{"a !`git log` b", "", "a <git log> b"},
		{"!`git log $1`", "x", "<git log 'x'>"},
		{"!`git log $1 $2`", "x", "<git log 'x' >"},
		{"!`git log $ARGUMENTS`", `a "b; rm"`, "<git log 'a' 'b; rm'>"},
		{"!`git log $1`", `it's`, `<git log 'it'\''s'>`},
		{"!`awk '{print $10}' \\$1`$1", "x", `<awk '{print $10}' \$1>x`},
		{"!`one`!`two`", "", "<one><two>"},
		{"!``", "", "!``"},
		{"!`open", "", "!`open"},
		{"\\!`text`", "", "!`text`"},
	} {
		pieces, err := fill(c.template, c.arguments)
		if err != nil {
			t.Errorf("%q: %v", c.template, err)
			continue
		}
		var got strings.Builder
		for _, p := range pieces {
			if p.line {
				got.WriteString("<" + p.text + ">")
			} else {
				got.WriteString(p.text)
			}
		}
		if got.String() != c.want {
			t.Errorf("%q with %q is %q, want %q", c.template, c.arguments, got.String(), c.want)
		}
	}
}

func TestCheckTemplate(t *testing.T) {
	for template, want := range map[string]string{
		" \n":                                 "is empty",
		strings.Repeat("x", MaxTemplate+1):    "has 65537 bytes, the limit is 65536",
		strings.Repeat("!`a`", MaxLines+1):    "has more than 16 command lines",
		"!`grep \"$1\" x`":                    "has $1 in quotes",
		"!`grep '$ARGUMENTS' x`":              "has $ARGUMENTS in quotes",
		"!`echo \"$(cat $1)\"`":               "has $1 in quotes",
		"!`cat <<X\n$1\nX\n`":                 "has $1 in quotes or beside <<",
		"fine":                                "",
		"!`grep $1 x` and !`echo \"$HOME\"`":  "",
		strings.Repeat("!`a`", MaxLines) + "": "",
	} {
		err := CheckTemplate(template)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", clip(template, 80), err, want)
		}
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                  nil,
		"  a\tb\nc ":        {"a", "b", "c"},
		`"a b" 'c d'`:       {"a b", "c d"},
		`a"b c"d`:           {"ab cd"},
		`"" ''`:             {"", ""},
		`"say \"x\" \\ \n"`: {`say "x" \ \n`},
		`'a\b'`:             {`a\b`},
		`a\ b \`:            {"a b", `\`},
		"it's broken":       {"it's", "broken"},
		`"open`:             {`"open`},
	} {
		if diff := cmp.Diff(want, words(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}
