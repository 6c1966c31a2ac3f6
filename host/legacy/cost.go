package legacy

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// money adds dollars as they are written, in decimal, and tells nano-dollars.
type money struct {
	sum   big.Rat
	known bool
}

// Bounds of a number of dollars as text: what is longer is no price.
const (
	maxNumber   = 40
	maxExponent = 30
)

func (m *money) add(dollars json.Number) error {
	text := string(dollars)
	if text == "" {
		return nil
	}
	_, exponent, scientific := strings.Cut(strings.ToLower(text), "e")
	if power, err := strconv.Atoi(exponent); len(text) > maxNumber || scientific && (err != nil || power < -maxExponent || power > maxExponent) {
		return fmt.Errorf("%q is no number of dollars", clip(text))
	}
	value, ok := new(big.Rat).SetString(text)
	if !ok || value.Sign() < 0 {
		return fmt.Errorf("%q is no number of dollars", clip(text))
	}
	m.sum.Add(&m.sum, value)
	m.known = true
	return nil
}

// nano answers the sum in nano-dollars, a half rounded up; nil when nothing was added.
func (m *money) nano() (*int64, error) {
	if !m.known {
		return nil, nil
	}
	scaled := new(big.Rat).Mul(&m.sum, big.NewRat(1e9, 1))
	scaled.Add(scaled, big.NewRat(1, 2))
	whole := new(big.Int).Quo(scaled.Num(), scaled.Denom())
	if !whole.IsInt64() {
		return nil, fmt.Errorf("%s dollars are more than can be counted", m.sum.FloatString(2))
	}
	nano := whole.Int64()
	return &nano, nil
}

func clip(text string) string {
	if len(text) > 64 {
		return text[:64] + "…"
	}
	return text
}
