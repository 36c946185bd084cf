// Package client sends mail through Postledger and asks what became of it. It
// speaks the HTTP API of one server with one API key and needs the standard
// library only.
//
//	c, err := client.New("https://mail.example.com", os.Getenv("POSTLEDGER_KEY"))
//	…
//	a, err := c.Send(ctx, &client.Message{
//		To:      client.To("mira@example.net"),
//		Subject: "Your receipt",
//		Text:    "Thank you.",
//		Key:     "receipt-4711",
//	})
//
// # What is promised
//
//   - Once. Every message and every batch has an idempotency key, the caller's
//     or a generated one, and every try of a call has the same. Whatever breaks
//     on the way, one message is accepted at most; KeyOf(err) is the key to
//     repeat a call with whose answer never came.
//   - An error means what it says. An *Error is the server's refusal with a
//     stable code (RFC 9457), found with errors.Is(err, client.ErrQuotaExceeded)
//     and the like. A *NoAnswerError means that nobody knows. An answer that
//     breaks off, or is not Postledger's, is never taken for one.
//   - Passing trouble is waited out: connections that fail, 429, 502, 503, 504
//     and 409 idempotency_in_progress are tried again with growing, jittered
//     pauses, as the server asks with Retry-After (RFC 9110 §10.2.3), and never
//     beyond the context's deadline. Other refusals are returned at once. What
//     could do harm when done twice is repeated only when it was certainly not
//     done once.
//   - Bounded. Attachments are streamed, whatever their size. Of an answer at
//     most 64 MiB are kept in memory, of a refusal 256 KiB. A try in which
//     nothing moves for DefaultStall has failed. No goroutine outlives a call.
//   - Quiet. The key is in no error, no log and no printed Client; errors hold
//     no address, subject or body, unless what stands between client and server
//     answered with one. Redirects are not followed.
//
// # Lists
//
// Lists are iterators that fetch a page when the one before was used up:
//
//	for d, err := range c.Deliveries(ctx, client.DeliveryFilter{…}) {
//		if err != nil {
//			return err
//		}
//		…
//	}
//
// They are newest first, and end with the first error.
//
// # Keys
//
// An app's key sends, reads and cancels that app's mail and sees nothing of
// another app's: a foreign id answers like one that does not exist. An
// operator's key (scopes admin and audit) administers apps, keys, profiles,
// grants, suppressions and retention, and reads the audit trail.
package client
