package lens

import (
	"math/big"
	"strings"
)

// number is an exact decimal.
type number struct {
	// text is the canonical form: no plus, no leading zeros, no trailing zeros
	// after the point, no negative zero.
	text string
	rat  *big.Rat
}

// mostWhole and mostFraction are the digits that MySQL keeps of a decimal that is
// compared: DECIMAL(65,30).
const (
	mostWhole    = 35
	mostFraction = 30
)

// parseNumber reads a plain decimal. Exponents are refused: 1e9999 is short to
// write and long to compute.
func parseNumber(s string) (number, bool) {
	digits, negative := strings.CutPrefix(s, "-")
	whole, fraction, point := strings.Cut(digits, ".")
	if !allDigits(whole) || point && !allDigits(fraction) {
		return number{}, false
	}
	whole = strings.TrimLeft(whole, "0")
	fraction = strings.TrimRight(fraction, "0")
	if len(whole) > mostWhole || len(fraction) > mostFraction {
		return number{}, false
	}
	if whole == "" {
		whole = "0"
	}
	text := whole
	if fraction != "" {
		text += "." + fraction
	}
	if negative && text != "0" {
		text = "-" + text
	}
	rat, ok := new(big.Rat).SetString(text)
	return number{text: text, rat: rat}, ok
}

func allDigits(s string) bool {
	return s != "" && len(s) <= 200 && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

func (n number) whole() bool { return n.rat.IsInt() }

// significant counts the digits that carry the value.
func (n number) significant() int {
	digits := strings.Trim(strings.ReplaceAll(strings.TrimPrefix(n.text, "-"), ".", ""), "0")
	return len(digits)
}

// int64 returns the number if it is one.
func (n number) int64() (int64, bool) {
	if !n.whole() || !n.rat.Num().IsInt64() {
		return 0, false
	}
	return n.rat.Num().Int64(), true
}
