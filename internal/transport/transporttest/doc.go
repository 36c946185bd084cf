// Package transporttest holds what transports are tested with: the conformance
// suite that each of them passes (Run), a wire that checks how it is used
// (Wire), and a next hop that speaks SMTP over TCP and does what a script says
// (Hop).
//
// The hop is strict where its client must be right: commands in a group without
// PIPELINING, a second MAIL inside a transaction, a bare CR or LF and lines over
// 998 bytes are violations and fail the test that owns it. It waits for signals
// and never for time.
package transporttest
