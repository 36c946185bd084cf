package accept

import "time"

// The limits of one request. They bound what a request may cost, not what mail
// may be: a profile sets the lower ones of its next hop.
const (
	// MaxRecipients bounds to, cc and bcc together.
	MaxRecipients = 50
	// MaxBatch bounds the messages of one batch.
	MaxBatch = 1000
	// MaxSubject is the longest line a message may have (RFC 5322 §2.1.1).
	MaxSubject = 998
	// MaxBodyBytes bounds text and HTML together, before and after filtering.
	MaxBodyBytes = 10 << 20
	// MaxRequestBytes bounds a request without its attachments. A batch is
	// decoded message by message; its messages together keep the same bound.
	MaxRequestBytes = 32 << 20
	// MaxHeaders and MaxHeaderValue bound the caller's own header fields.
	MaxHeaders     = 50
	MaxHeaderValue = 4096
	// MaxReplyTo bounds the mailboxes replies go to.
	MaxReplyTo = 10
	// MaxAttachments bounds the files of one message.
	MaxAttachments = 50
	// MaxKey bounds an idempotency key, in bytes.
	MaxKey = 255
	// MaxName bounds display names, file names, ref, tenant and actor fields,
	// in bytes.
	MaxName = 255
	// MaxLocale bounds a language tag (RFC 5646 §4.4.1 advises at least 35).
	MaxLocale = 35
	// MaxAhead is how far send_at may lie in the future, and how long after
	// that moment a deadline may.
	MaxAhead = 366 * 24 * time.Hour
	// MaxProblems bounds the problems that one refusal lists.
	MaxProblems = 50
	// DefaultAttachmentBytes bounds the attachments of one message together
	// where the profile sets no bound.
	DefaultAttachmentBytes = 25 << 20
)

// requestOverhead is what MaxRequestBytes counts for one message or one entry
// of a list beside its text: names of fields, quotes and commas.
const requestOverhead = 64
