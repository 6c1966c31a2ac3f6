package bridge

import (
	"strings"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
)

// Every operation of the table refuses what it does not know, before it does
// anything.
func TestEveryOperationReadsItsRequestStrictly(t *testing.T) {
	r := newRig(t)
	for _, operation := range Offered() {
		for request, want := range map[string]string{
			`{"no_such_field":1}`: `unknown field "no_such_field"`,
			`{} {}`:               "something behind its end",
			`{}}`:                 "something behind its end",
			`{} x`:                "something behind its end",
			`{"`:                  "unexpected EOF",
			``:                    "EOF",
			`7`:                   "cannot unmarshal number",
			`[]`:                  "cannot unmarshal array",
		} {
			refused := failure(t, r.ask(t, operation, request))
			if refused.Kind != abi.KindInvalidInput || !strings.Contains(refused.Message, want) {
				t.Errorf("%s %s: %s: %s", operation, request, refused.Kind, refused.Message)
			}
		}
	}
	if len(r.host.asked)+len(r.host.tasks)+len(r.host.questions)+len(r.host.progress)+len(r.log.all()) != 0 {
		t.Errorf("%+v", r.host)
	}
}

// A request that is no message is the guest's mistake.
func TestARequestThatIsNoMessage(t *testing.T) {
	r := newRig(t)
	for _, request := range [][]byte{nil, {1, 0}, {255, 255, 255, 255}, {3, 0, 0, 0, '{', '}'}} {
		host := &operations{plugin: r.plugin, reach: r.reach}
		body, _, err := abi.DecodeMessage(host.Call(t.Context(), abi.OpLog, request))
		if err != nil || !strings.HasPrefix(string(body), `{"error":{"kind":"invalid_input","message":"malformed message: `) {
			t.Errorf("% x: %s, %v", request, body, err)
		}
	}
}

// Bytes that a request refers to must be there.
func TestBytesOutsideOfTheMessage(t *testing.T) {
	r := newRig(t)
	for _, at := range []string{"[0,4]", "[4,0]", "[-1,1]", "[0,-1]", "[1,9223372036854775807]", "[9223372036854775807,1]"} {
		answer := failure(t, r.ask(t, abi.OpFSCommit, `{"changes":[{"op":"write","path":"new","data":{"$bytes":`+at+`}}]}`, 'a', 'b', 'c'))
		if answer.Kind != abi.KindInvalidInput || !strings.Contains(answer.Message, "outside of 3 raw bytes") {
			t.Errorf("%s: %s: %s", at, answer.Kind, answer.Message)
		}
	}
}
