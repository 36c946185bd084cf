// Package sink is a fast SMTP server that takes mail and counts it: the next
// hop of crash tests and benchmarks, as a library and as a program of its own
// (cmd/smtpsink) whose CPU time can be told apart from ours.
//
// With a record, every accepted recipient is a line in a file, appended, and
// with Fsync on disk, before its 250 is sent: what the sink has answered it can
// prove, whoever is killed when. A line is
//
//	<envelope> <address> <sha256 of the message>
//
// The envelope is the ENVID of MAIL (RFC 3461 §4.4), or else the left side of
// the Message-ID, or else "-"; so a copy too many shows as a line too many.
//
// It is no conforming server: it reads commands as our transport writes them
// and checks nothing. The strict one is transporttest.Hop.
package sink
