package dkim

import (
	"encoding/binary"
	"hash"
	"math/bits"
)

// relaxedBody hashes a body in relaxed canonical form (RFC 6376 §3.4.4): blanks
// at the end of a line go, other runs of blanks become one space, empty lines at
// the end go, and what is not empty ends with CRLF.
//
// It is written in pieces of any size, so the body need not be in memory. What
// may turn out to be at an end is not passed on but remembered, in this order:
// line ends, a run of blanks, a CR.
type relaxedBody struct {
	h      hash.Hash
	stage  []byte // canonical octets on their way into h, at most its capacity
	crlfs  int
	blank  bool
	cr     bool
	filled bool // something was passed on
}

const stageSize = 4096

func (c *relaxedBody) reset() {
	c.h.Reset()
	*c = relaxedBody{h: c.h, stage: c.stage[:0]}
}

func (c *relaxedBody) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		b := p[0]
		switch {
		case c.cr && b == '\n':
			c.cr, c.blank = false, false
			c.crlfs++
			p = p[1:]
		case c.cr:
			c.bareCR()
		case b == ' ' || b == '\t':
			c.blank = true
			p = p[1:]
		case b == '\r':
			c.cr = true
			p = p[1:]
		default:
			k := cleanPrefix(p)
			c.run(p[:k])
			p = p[k:]
		}
	}
	return n, nil
}

// run takes octets that are canonical but for what stands at their end.
func (c *relaxedBody) run(p []byte) {
	c.flush()
	k := len(p)
	if p[k-1] == '\r' {
		c.cr = true
		k--
	}
	for k >= 2 && p[k-2] == '\r' && p[k-1] == '\n' {
		c.crlfs++
		k -= 2
	}
	c.put(p[:k])
}

// bareCR passes on a CR that ends no line.
func (c *relaxedBody) bareCR() {
	c.cr = false
	c.flush()
	c.putMark("\r")
}

func (c *relaxedBody) flush() {
	for ; c.crlfs > 0; c.crlfs-- {
		c.putMark("\r\n")
	}
	if c.blank {
		c.blank = false
		c.putMark(" ")
	}
}

func (c *relaxedBody) put(p []byte) {
	c.filled = true
	if len(c.stage)+len(p) > cap(c.stage) {
		c.drain()
		if len(p) > cap(c.stage) {
			c.h.Write(p)
			return
		}
	}
	c.stage = append(c.stage, p...)
}

// putMark is put for the few octets canonical form puts in by itself.
func (c *relaxedBody) putMark(s string) {
	c.filled = true
	if len(c.stage)+len(s) > cap(c.stage) {
		c.drain()
	}
	c.stage = append(c.stage, s...)
}

func (c *relaxedBody) drain() {
	c.h.Write(c.stage)
	c.stage = c.stage[:0]
}

// sum ends the body and appends its hash to dst.
func (c *relaxedBody) sum(dst []byte) []byte {
	if c.cr {
		c.bareCR()
	}
	if c.filled {
		c.putMark("\r\n")
	}
	c.drain()
	return c.h.Sum(dst)
}

// cleanPrefix returns the length of a prefix of p without a TAB and without a
// space before another blank, a CR or the end of p. The first octet of p must be
// no blank. It looks at eight octets at a time and moves by seven, since the
// eighth needs its successor.
func cleanPrefix(p []byte) int {
	const ones = 0x0101010101010101
	n := 0
	for len(p)-n >= 8 {
		x := binary.LittleEndian.Uint64(p[n:])
		space, tab, cr := zeros(x^ones*' '), zeros(x^ones*'\t'), zeros(x^ones*'\r')
		if found := tab | space&((space|tab|cr)>>8); found != 0 {
			return n + bits.TrailingZeros64(found)/8
		}
		n += 7
	}
	for ; n < len(p); n++ {
		if p[n] == '\t' || p[n] == ' ' && (n+1 == len(p) || p[n+1] == ' ' || p[n+1] == '\t' || p[n+1] == '\r') {
			break
		}
	}
	return n
}

// zeros sets the high bit of exactly those octets of x that are zero.
func zeros(x uint64) uint64 {
	const low = 0x7f7f7f7f7f7f7f7f
	return ^((x&low + low) | x | low)
}
