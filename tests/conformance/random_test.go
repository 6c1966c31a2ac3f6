package conformance

import (
	"encoding/json"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
)

// Calls that start from one snapshot have different randomness, of the SDK and of the
// language's own library, although generators were seeded before it was taken.
func TestRestoredCallsHaveTheirOwnRandomness(t *testing.T) {
	each(t, func(t *testing.T, g guest) {
		p := toolsOf(t, g)
		seen := map[string]bool{}
		for range 5 {
			var got struct{ Numbers []string }
			if err := json.Unmarshal(p.structured(t, "random", `{}`), &got); err != nil || len(got.Numbers) != 2 {
				t.Fatalf("%v, %v", got, err)
			}
			for _, number := range got.Numbers {
				if len(number) != 16 || seen[number] {
					t.Errorf("%q was there before, or is no number of 64 bits", number)
				}
				seen[number] = true
			}
		}
	})
}

// In a pure module it follows from the call: equal calls give the same answers.
func TestPureRandomnessRepeats(t *testing.T) {
	each(t, func(t *testing.T, g guest) {
		p := codecOf(t, g)
		number := func(text string) string {
			encoded, _, told := ask[abi.ProviderEncoded](t, p, abi.ExportProviderEncode,
				abi.ProviderEncode{Provider: provider, Request: request("random", text)})
			if told != nil || len(encoded.Headers["x-random"]) != 16 {
				t.Fatalf("%v, %v", encoded.Headers, told)
			}
			return encoded.Headers["x-random"]
		}
		first := number("one")
		for range 3 {
			if again := number("one"); again != first {
				t.Errorf("the same call gives %s, then %s", first, again)
			}
		}
		if other := number("two"); other == first {
			t.Errorf("another call gives %s as well", other)
		}
	})
}
