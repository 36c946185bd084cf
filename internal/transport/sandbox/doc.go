// Package sandbox is the transport from which nothing leaves. It takes every
// envelope as a good relay would, keeps the last of them in memory to be looked
// at, and plays the failures of a real hop on request.
//
// # Kept messages
//
// At most MaxMessages and MaxBytes are kept, the oldest go first; memory is
// bounded by the two whatever is sent. Nothing is on disk: a restart forgets
// them. A message larger than MaxBytes is listed without its bytes.
//
// # Magic recipients
//
// What follows the last "+" of a recipient's local part (RFC 5233 calls it the
// detail) makes the hop act; any other address is accepted:
//
//	+rejected   550 5.1.1 at RCPT: refused
//	+deferred   451 4.7.1 at RCPT, always: deferred until its retries are used up
//	+NNN        that reply code, 400 to 599, at RCPT, judged as a real one would
//	            be (+450, +452, +550 …; +421 says goodbye to the whole envelope)
//	+timeout    the hop stops answering after RCPT: the envelope is deferred. It
//	            is not unavailable, which would take the whole profile down for
//	            one address
//	+unknown    the final dot is not answered: the envelope is unknown, and is
//	            not kept
//	+slow       the answer takes SlowDelay; a context that ends first returns it
//
// As with a real hop, what happens at RCPT concerns that recipient, and what
// happens later the whole envelope. The contract of package transport holds
// throughout: Begun before the message counts, Answered with every answer.
package sandbox
