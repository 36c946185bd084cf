package stablehash

import (
	"bytes"
	"strconv"
)

// number reads a number and appends it as digits × 10^exponent in canonical
// notation. No step rounds.
func (s *scanner) number() error {
	negative := s.peek() == '-'
	if negative {
		s.pos++
	}
	begin := s.pos
	whole := s.digits()
	if len(whole) == 0 || len(whole) > 1 && whole[0] == '0' {
		s.pos = begin
		return s.fail(RuleSyntax, "number has no digits or a leading zero")
	}
	var fraction []byte
	if s.peek() == '.' {
		s.pos++
		if fraction = s.digits(); len(fraction) == 0 {
			return s.fail(RuleSyntax, "number has no digit after its point")
		}
	}
	exponent, err := s.exponent()
	if err != nil {
		return err
	}
	if len(fraction) == 0 && exponent == 0 && len(whole) <= maxPlain {
		if negative && whole[0] != '0' {
			s.out = append(s.out, '-')
		}
		s.out = append(s.out, whole...)
		return nil
	}
	return s.appendNumber(negative, whole, fraction, exponent)
}

// ECMAScript writes a number plainly while its point is within these places.
const (
	maxPlain    = 21
	minPlain    = -5
	maxExponent = 999_999_999
)

func (s *scanner) digits() []byte {
	begin := s.pos
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		s.pos++
	}
	return s.in[begin:s.pos]
}

func (s *scanner) exponent() (int, error) {
	if s.peek()|0x20 != 'e' {
		return 0, nil
	}
	s.pos++
	sign := 1
	switch s.peek() {
	case '-':
		sign = -1
		s.pos++
	case '+':
		s.pos++
	}
	digits := s.digits()
	if len(digits) == 0 {
		return 0, s.fail(RuleSyntax, "number has no digit in its exponent")
	}
	if len(digits) > 9 {
		return 0, s.fail(RuleNumber, "number has an exponent of more than nine digits")
	}
	n := 0
	for _, d := range digits {
		n = n*10 + int(d-'0')
	}
	return sign * n, nil
}

func (s *scanner) appendNumber(negative bool, whole, fraction []byte, exponent int) error {
	// One run of digits with an exponent for its last one.
	digits := make([]byte, 0, len(whole)+len(fraction))
	digits = append(append(digits, whole...), fraction...)
	exponent -= len(fraction)
	trimmed := bytes.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	digits = bytes.TrimLeft(trimmed, "0")
	if len(digits) == 0 {
		s.out = append(s.out, '0')
		return nil
	}
	point := len(digits) + exponent // digits before the decimal point
	if max(point-1, 1-point) > maxExponent {
		return s.fail(RuleNumber, "number has an exponent of more than nine digits")
	}
	out := s.out
	if negative {
		out = append(out, '-')
	}
	switch {
	case point > maxPlain || point < minPlain:
		out = append(out, digits[0])
		if len(digits) > 1 {
			out = append(append(out, '.'), digits[1:]...)
		}
		out = append(out, 'e')
		if point > 0 {
			out = append(out, '+')
		}
		out = strconv.AppendInt(out, int64(point-1), 10)
	case point <= 0:
		out = append(out, "0."...)
		out = append(out, zeros[:-point]...)
		out = append(out, digits...)
	case point >= len(digits):
		out = append(out, digits...)
		out = append(out, zeros[:point-len(digits)]...)
	default:
		out = append(append(out, digits[:point]...), '.')
		out = append(out, digits[point:]...)
	}
	s.out = out
	return nil
}

const zeros = "000000000000000000000"
