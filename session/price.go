package session

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Price is what a model's tokens cost, in nano-dollars per million tokens: $0.075 a
// million is 75,000,000. A price list's smallest steps are whole in this unit.
type Price struct {
	Input      int64 // neither read from a cache nor written to one
	Output     int64
	CacheRead  int64
	CacheWrite int64
	// Tiers replace the prices above for requests with a large input.
	Tiers []Tier
}

// Tier holds the prices of a whole request whose input is large.
type Tier struct {
	Above      int64 // input tokens; a request with more is of this tier
	Input      int64
	Output     int64
	CacheRead  int64
	CacheWrite int64
}

// perMillion is how many tokens a price is for.
const perMillion = 1_000_000

// Cost answers nano-dollars for what one request used, rounded half up, once, and
// math.MaxInt64 when it would be more. Counts and prices below zero count as zero, and
// so does what is left of the input when the cache's parts are more than all of it.
func (p *Price) Cost(u Usage) int64 {
	rates := p.tier(u.Input)
	read, write := max(u.CacheRead, 0), max(u.CacheWrite, 0)
	plain := max(u.Input, 0)
	plain -= min(plain, read)
	plain -= min(plain, write)
	// Four products of 63 bits by 63 bits, and the half, are less than 2^128.
	hi, lo := uint64(0), uint64(perMillion/2)
	for _, part := range [...]struct{ tokens, price int64 }{
		{plain, rates.Input}, {max(u.Output, 0), rates.Output}, {read, rates.CacheRead}, {write, rates.CacheWrite},
	} {
		productHi, productLo := bits.Mul64(uint64(part.tokens), uint64(max(part.price, 0)))
		var carry uint64
		lo, carry = bits.Add64(lo, productLo, 0)
		hi, _ = bits.Add64(hi, productHi, carry)
	}
	if hi >= perMillion {
		return math.MaxInt64
	}
	cost, _ := bits.Div64(hi, lo, perMillion)
	return int64(min(cost, math.MaxInt64))
}

// tier answers the prices for a request with so much input.
func (p *Price) tier(input int64) Tier {
	rates := Tier{Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite}
	for _, tier := range p.Tiers {
		if input > tier.Above && tier.Above >= rates.Above {
			rates = tier
		}
	}
	return rates
}

const (
	nanos      = 1_000_000_000
	maxDollars = 1_000_000
	// fractionDigits are those of a nano-dollar.
	fractionDigits = 9
)

// ParseDollars reads decimal dollars, like "0.075", exactly: nano-dollars. It wants
// digits, at most nine of them behind a point, and no more than a million dollars.
func ParseDollars(text string) (int64, error) {
	whole, fraction, point := strings.Cut(text, ".")
	if !digits(whole) || point && !digits(fraction) {
		return 0, fmt.Errorf(`must be dollars, like "0.075"`)
	}
	if len(strings.TrimRight(fraction, "0")) > fractionDigits {
		return 0, fmt.Errorf("has more than %d digits behind the point", fractionDigits)
	}
	dollars, err := strconv.ParseInt(whole, 10, 64)
	fraction = (fraction + strings.Repeat("0", fractionDigits))[:fractionDigits]
	rest, restErr := strconv.ParseInt(fraction, 10, 64)
	if err != nil || restErr != nil || dollars > maxDollars || dollars == maxDollars && rest > 0 {
		return 0, fmt.Errorf("must be at most %d dollars", maxDollars)
	}
	return dollars*nanos + rest, nil
}

func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// FormatDollars writes nano-dollars as decimal dollars, exactly: "0.075".
func FormatDollars(nano int64) string {
	sign, n := "", uint64(nano)
	if nano < 0 {
		sign, n = "-", -n
	}
	text := fmt.Sprintf("%d.%09d", n/nanos, n%nanos)
	return sign + strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
