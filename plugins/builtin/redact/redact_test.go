package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

// of is n bytes that no format ends at.
func of(n int) string { return strings.Repeat("aZ0", n)[:n] }

func capital(n int) string { return strings.Repeat("AB0", n)[:n] }

func searching(t *testing.T, s settings) *search {
	t.Helper()
	made, err := newSearch(s)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// In the wants $ is the mark of the kind.
func TestFormats(t *testing.T) {
	key := "-----BEGIN %s-----\n" + of(64) + "\n" + of(30) + "==\n-----END %s-----"
	for _, c := range []struct{ kind, text, want string }{
		{"aws-access-key", "AKIA" + capital(16), "$"},
		{"aws-access-key", "id=ASIA" + capital(16) + ";", "id=$;"},
		{"aws-secret-key", "aws_secret_access_key = " + of(40) + "\n", "aws_secret_access_key = $\n"},
		{"aws-secret-key", `"SecretAccessKey": "` + of(40) + `"`, `"SecretAccessKey": "$"`},
		{"aws-secret-key", `AWS_SECRET_ACCESS_KEY=` + of(40), `AWS_SECRET_ACCESS_KEY=$`},
		{"github-token", "ghp_" + of(36), "$"},
		{"github-token", "gho_" + of(40) + " ghs_" + of(36), "$ $"},
		{"github-token", "github_pat_" + of(22) + "_" + of(59), "$"},
		{"gitlab-token", "glpat-" + of(20), "$"},
		{"slack-token", "xoxb-123456789012-" + of(24), "$"},
		{"slack-token", "xapp-1-A0-" + of(20), "$"},
		{"slack-webhook", "https://hooks.slack.com/services/T00/B00/" + of(24) + " ", "$ "},
		{"stripe-key", "sk_live_" + of(24), "$"},
		{"stripe-key", "rk_test_" + of(24), "$"},
		{"stripe-key", "whsec_" + of(32), "$"},
		{"google-key", "AIza" + of(35), "$"},
		{"google-secret", "GOCSPX-" + of(28), "$"},
		{"openai-key", "sk-proj-" + of(40), "$"},
		{"openai-key", "sk-" + of(48), "$"},
		{"anthropic-key", "sk-ant-api03-" + of(90) + "-AA", "$"},
		{"jwt", "Bearer eyJ" + of(20) + ".eyJ" + of(40) + "." + of(43) + ".", "Bearer $."},
		{"private-key", "a\n" + fmt.Sprintf(key, "PRIVATE KEY", "PRIVATE KEY") + "\nb", "a\n$\nb"},
		{"private-key", fmt.Sprintf(key, "RSA PRIVATE KEY", "RSA PRIVATE KEY"), "$"},
		{"private-key", fmt.Sprintf(key, "PGP PRIVATE KEY BLOCK", "PGP PRIVATE KEY BLOCK"), "$"},
		{"private-key", `{"key":"` + strings.ReplaceAll(fmt.Sprintf(key, "PRIVATE KEY", "PRIVATE KEY"), "\n", `\n`) + `"}`, `{"key":"$"}`},
		{"private-key", "-----BEGIN PRIVATE KEY-----\n" + of(64) + "\n" + of(20), "$"}, // a page of it
		{"password", "postgres://app:hunter2@db/x", "postgres://app:$@db/x"},
		{"password", "amqp://:p%40:w@mq", "amqp://:$@mq"},
		{"password", "see https://a:b@c@d.example/e", "see https://a:$@d.example/e"},
		{"openai-key", `{"line":"\nsk-` + of(40) + `\tghi"}`, `{"line":"\n$\tghi"}`}, // escapes of a JSON in the text
	} {
		want := strings.ReplaceAll(c.want, "$", "[redacted: "+c.kind+"]")
		s := searching(t, settings{})
		got, found := s.redact(c.text)
		if got != want || !found {
			t.Errorf("%s: %q, want %q", c.kind, got, want)
		}
		if again, found := s.redact(got); found {
			t.Errorf("%s: what was redacted is redacted again: %q", c.kind, again)
		}
		if got, found := searching(t, settings{Without: []string{c.kind}}).redact(c.text); found || got != c.text {
			t.Errorf("without %s: %q", c.kind, got)
		}
	}
}

func TestWhatOnlyLooksLikeASecretStays(t *testing.T) {
	for _, text := range []string{
		"", "plain text", "AKIA" + capital(15), "AKIA" + capital(17), "AKIAlower", "ghp_short", "task-" + of(48), "my_sk-ant-" + of(30), "risk_live_" + of(20),
		"AIza" + of(34), "AIza" + of(36), "sk-" + of(31), "sk-learn and sk-kit", "eyJ" + of(20) + "." + of(20) + "." + of(20), "eyJ" + of(20) + ".eyJ" + of(20), "eyJ",
		`if strings.HasPrefix(line, "-----BEGIN PRIVATE KEY-----") {`, "-----BEGIN CERTIFICATE-----\n" + of(64) + "\n-----END CERTIFICATE-----", "-----BEGIN " + of(60),
		"https://example.org/a:b@c", "https://user@example.org", "https://user:@example.org", "postgres://app:${PASSWORD}@db", "postgres://app:<password>@db", "postgres://app:*****@db",
		"aws_secret_access_key", "aws_secret_access_key = " + of(39), "aws_secret_access_key = " + of(41), "aws_secret_access_key" + of(40), "://", "a://b c:d@e",
	} {
		if got, found := searching(t, settings{}).redact(text); found || got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestOwnPatterns(t *testing.T) {
	s := searching(t, settings{Patterns: []pattern{{"employee", "EMP-[0-9]{6}"}, {"ticket", `TCK\d+(?:-x)?`}, {"greeting", "äöü!+"}}})
	got, _ := s.redact("XEMP-123456 EMP-12 TCK7-x,TCK8 äöü!!.aghp_" + of(36))
	if want := "X[redacted: employee] EMP-12 [redacted: ticket],[redacted: ticket] [redacted: greeting].aghp_" + of(36); got != want {
		t.Errorf("%q", got) // the token does not begin a word
	}
	long := "EMP" + strings.Repeat("1", maxMatch)
	if got, _ := searching(t, settings{Patterns: []pattern{{"n", "EMP1+"}}}).redact(long); got != "[redacted: n]111" {
		t.Errorf("%d bytes: %.60q", len(got), got)
	}
}

func TestBadSettingsAreNamed(t *testing.T) {
	for config, want := range map[string]string{
		`{"without":["jwt","x"]}`:                                                                                `without[1] is "x"; there are anthropic-key, aws-access-key`,
		`{"patterns":[{"kind":"A","pattern":"abc"}]}`:                                                            `patterns[0].kind is "A"`,
		`{"patterns":[{"kind":"a","pattern":"(abc"}]}`:                                                           `patterns[0].pattern: error parsing regexp`,
		`{"patterns":[{"kind":"a","pattern":"abc"},{"kind":"b","pattern":"ab.*"}]}`:                              `patterns[1].pattern is "ab.*", which begins with 2 characters`,
		`{"patterns":[{"kind":"a","pattern":"(?i)abc"}]}`:                                                        `begins with 0 characters`,
		`{"patterns":[` + strings.Repeat(`{"kind":"a","pattern":"abc"},`, 50) + `{"kind":"a","pattern":"abc"}]}`: `patterns has 51 entries, the limit is 50`,
		`{"pattern":[]}`: `unknown field "pattern"`,
	} {
		if err := plinthtest.Configure(t, json.RawMessage(config)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", config, err, want)
		}
	}
}

// Only what the provider did not make is edited, and the same again the next time.
func TestOnlyOurPartsAreEdited(t *testing.T) {
	if err := plinthtest.Configure(t, settings{}); err != nil {
		t.Fatal(err)
	}
	secret, signed := "ghp_"+of(36), json.RawMessage(`{"signature":"s"}`)
	request := abi.TransformApply{Transform: "redact", Purpose: "turn",
		System: []abi.TextPart{{ID: "baseline", Text: secret}},
		Messages: []abi.Message{{ID: "m", Role: "assistant", Parts: []abi.Part{
			{ID: "text", Type: abi.PartText, Text: secret}, {ID: "result", Type: abi.PartToolResult, Text: secret}, {ID: "plain", Type: abi.PartText, Text: "plain"},
			{ID: "reasoning", Type: abi.PartReasoning, Text: secret}, {ID: "signed", Type: abi.PartText, Text: secret, Metadata: signed},
			{ID: "hosted", Type: abi.PartToolResult, Text: secret, Hosted: true}, {ID: "call", Type: abi.PartToolCall, Text: secret}}}}}
	for range 2 {
		got, err := plinthtest.Call[abi.TransformEdits](t, abi.ExportTransform, request)
		if err != nil {
			t.Fatal(err)
		}
		var edited []string
		for _, edit := range got.Edits {
			edited = append(edited, edit.Part+" "+edit.Op+" "+edit.ID+" "+string(edit.Value))
		}
		want := `system replace baseline "[redacted: github-token]",messages replace text "[redacted: github-token]",messages replace result "[redacted: github-token]"`
		if strings.Join(edited, ",") != want {
			t.Errorf("%v", edited)
		}
	}
}
