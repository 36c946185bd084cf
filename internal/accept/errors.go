package accept

import (
	"errors"
	"fmt"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// Code is the stable name of a refusal, as callers see it.
type Code string

// The codes that this package refuses with.
const (
	CodeBadInput      Code = "bad_input"
	CodeUnauthorized  Code = "unauthorized"
	CodeConsent       Code = "category_needs_consent"
	CodeUnknown       Code = "message_unknown"
	CodeGone          Code = "message_gone"
	CodeNoProfile     Code = "profile_required"
	CodeProfile       Code = "profile_unknown"
	CodeNotAllowed    Code = "profile_not_allowed"
	CodeRemoved       Code = "profile_removed"
	CodeQuota         Code = "quota_exceeded"
	CodeRate          Code = "rate_exceeded"
	CodeTooLarge      Code = "attachments_too_large"
	CodeLost          Code = "attachment_lost"
	CodeStorageFull   Code = "attachment_storage_full"
	CodeBacklog       Code = "backlog_full"
	CodeMismatch      Code = "idempotency_mismatch"
	CodeInProgress    Code = "idempotency_in_progress"
	CodeUnavailable   Code = "mail_unavailable"
	CodeOverloaded    Code = "overloaded"
	CodeNotResendable Code = "not_resendable"
)

// Codes lists every code.
func Codes() []Code {
	return []Code{
		CodeBadInput, CodeUnauthorized, CodeConsent, CodeUnknown, CodeGone, CodeNoProfile, CodeProfile,
		CodeNotAllowed, CodeRemoved, CodeQuota, CodeRate, CodeTooLarge, CodeLost, CodeStorageFull, CodeBacklog,
		CodeMismatch, CodeInProgress, CodeUnavailable, CodeOverloaded, CodeNotResendable,
	}
}

// Refusal is an error that says no to a caller. Every error of this package
// is, or wraps, one; CodeOf finds it.
type Refusal interface {
	error
	Code() Code
}

// CodeOf is the code of the refusal in err's chain, or "" when there is none.
func CodeOf(err error) Code {
	var r Refusal
	if errors.As(err, &r) {
		return r.Code()
	}
	return ""
}

// refusal is one without details.
type refusal struct {
	code Code
	text string
}

func (e *refusal) Error() string { return e.text }

// Code is the refusal's code.
func (e *refusal) Code() Code { return e.code }

// Refusals without details.
var (
	ErrConsent        error = &refusal{CodeConsent, "marketing needs consent, which is not kept yet"}
	ErrUnauthorized   error = &refusal{CodeUnauthorized, "the API key was revoked or has expired"}
	ErrMessageUnknown error = &refusal{CodeUnknown, "there is no such message"}
	// ErrMessageGone: the key is known and its message is not kept any more,
	// or a message's content was purged. Nothing is sent.
	ErrMessageGone       error = &refusal{CodeGone, "the message or its content is not kept any more"}
	ErrProfileRequired   error = &refusal{CodeNoProfile, "no profile is named, and the app has grants of which none is for the default one, or there is no default"}
	ErrProfileUnknown    error = &refusal{CodeProfile, "there is no such profile"}
	ErrProfileNotAllowed error = &refusal{CodeNotAllowed, "the app may not use this profile"}
	ErrProfileRemoved    error = &refusal{CodeRemoved, "the profile was removed"}
	ErrAttachmentLost    error = &refusal{CodeLost, "an attachment of the message is missing from storage"}
	ErrStorageFull       error = &refusal{CodeStorageFull, "the storage for attachments is full"}
	ErrNotResendable     error = &refusal{CodeNotResendable, "nothing of the message can be sent again"}
)

// QuotaError: the request would pass the limit of recipients in 1,440 minutes.
type QuotaError struct{ ledger.QuotaError }

// Code is quota_exceeded.
func (e *QuotaError) Code() Code { return CodeQuota }

// RateError: the app sends immediate messages faster than the profile allows.
type RateError struct {
	PerMinute  int
	RetryAfter time.Duration
}

func (e *RateError) Error() string {
	return fmt.Sprintf("more than %d immediate messages a minute", e.PerMinute)
}

// Code is rate_exceeded.
func (e *RateError) Code() Code { return CodeRate }

// TooLargeError: the attachments of one message are larger than the profile
// allows.
type TooLargeError struct {
	Field string
	Limit int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s: the attachments are larger than %d bytes together", e.Field, e.Limit)
}

// Code is attachments_too_large.
func (e *TooLargeError) Code() Code { return CodeTooLarge }

// BacklogError: more than a day's worth of the profile's pace waits already.
type BacklogError struct{ Waiting, Limit int64 }

func (e *BacklogError) Error() string {
	return fmt.Sprintf("%d deliveries wait for this profile, and it sends %d a day", e.Waiting, e.Limit)
}

// Code is backlog_full.
func (e *BacklogError) Code() Code { return CodeBacklog }

// MismatchError: an idempotency key stands for another request.
type MismatchError struct {
	// Index is the message of the batch; 0 for a single one.
	Index int
	// Other is the message of the same batch that has the key too, or -1.
	Other int
}

func (e *MismatchError) Error() string {
	if e.Other >= 0 {
		return fmt.Sprintf("messages[%d] and messages[%d] have the same idempotency key", e.Other, e.Index)
	}
	return "the idempotency key was used for another request"
}

// Code is idempotency_mismatch.
func (e *MismatchError) Code() Code { return CodeMismatch }

// BusyError asks to come again: the same key is being written by another
// process (idempotency_in_progress), or too much waits (overloaded).
type BusyError struct {
	code       Code
	RetryAfter time.Duration
}

func (e *BusyError) Error() string {
	if e.code == CodeInProgress {
		return "a request with this idempotency key is being written"
	}
	return "too much is waiting already"
}

// Code is idempotency_in_progress or overloaded.
func (e *BusyError) Code() Code { return e.code }

// UnavailableError: ledger or blob store could not do it. When FateUnknown is
// set the request may have been accepted, as MessageID (the first message of
// BatchID, if that is set); without it nothing was changed.
type UnavailableError struct {
	MessageID   postledger.ID
	BatchID     postledger.ID
	FateUnknown bool
	Err         error
}

func (e *UnavailableError) Error() string { return "not available: " + e.Err.Error() }

// Unwrap is the cause, for logs.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Code is mail_unavailable.
func (e *UnavailableError) Code() Code { return CodeUnavailable }
