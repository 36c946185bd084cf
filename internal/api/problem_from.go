package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/webhook"
	"github.com/postledger/postledger/jobs"
)

// unavailableRetry is how long a caller should wait for a ledger or a storage
// that does not answer.
const unavailableRetry = 5 * time.Second

// problemOf is the refusal that an error means.
func problemOf(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	if p = ledgerProblem(err); p == nil {
		p = acceptProblem(err)
	}
	if p == nil {
		// What is none of a step's answers: the ledger could not be asked.
		p = problem(codeUnavailable, "")
		p.retryAfter = unavailableRetry
	}
	p.cause = err
	return p
}

// sentinels are the ledger's answers without details.
var sentinels = []struct {
	err  error
	code Code
}{
	{ledger.ErrMessageUnknown, codeMessageUnknown},
	{ledger.ErrContentPurged, codeMessageGone},
	{ledger.ErrAppUnknown, codeAppUnknown},
	{ledger.ErrAppExists, codeAppExists},
	{ledger.ErrAppRemoved, codeAppRemoved},
	{ledger.ErrKeyUnknown, codeKeyUnknown},
	{ledger.ErrProfileUnknown, codeProfileUnknown},
	{ledger.ErrProfileExists, codeProfileExists},
	{ledger.ErrProfileIsDefault, codeProfileIsDefault},
	{ledger.ErrProfileGone, codeProfileRemoved},
	{ledger.ErrProfileRequired, codeProfileRequired},
	{ledger.ErrRevisionConflict, codeRevisionConflict},
	{ledger.ErrGrantUnknown, codeGrantUnknown},
	{ledger.ErrNotSuppressed, codeNotSuppressed},
	{ledger.ErrAudienceUnknown, codeAudienceUnknown},
	{ledger.ErrAudienceExists, codeAudienceExists},
	{ledger.ErrAudienceRemoved, codeAudienceRemoved},
	{ledger.ErrAudienceLimit, codeAudienceLimit},
	{jobs.ErrUnknownJob, codeJobUnknown},
	{jobs.ErrUnknownSchedule, codeScheduleUnknown},
	{ledger.ErrWebhookUnknown, codeWebhookUnknown},
	{ledger.ErrWebhooksTooMany, codeWebhooksTooMany},
	{webhook.ErrDeliveryUnknown, codeDeliveryUnknown},
	{webhook.ErrNotSettled, codeNotSettled},
	{webhook.ErrSealed, codeSecretsUnreadable},
	{jobs.ErrOverloaded, codeOverloaded},
}

func ledgerProblem(err error) *Problem {
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return problem(s.code, "")
		}
	}
	var filter *ledger.FilterError
	var setting *ledger.SettingError
	switch {
	case errors.As(err, &filter):
		return field(filter.Field, accept.RuleRange, filter.Rule)
	case errors.As(err, &setting):
		return field(setting.Field, accept.RuleRange, setting.Rule)
	case errors.Is(err, ledger.ErrFilterTooBroad):
		return problem(codeFilterTooBroad, innermost(err))
	case errors.Is(err, ledger.ErrBadCursor):
		return field("cursor", accept.RuleSyntax, "is not a cursor of this list")
	case errors.Is(err, ledger.ErrCursorFilter):
		return field("cursor", accept.RuleMismatch, "belongs to another filter: start again without it")
	}
	return nil
}

// innermost is the text of the wrap next to the sentinel: why the filter is
// too broad, without what was being done.
func innermost(err error) string {
	text := err.Error()
	for e := err; e != nil; e = errors.Unwrap(e) {
		if errors.Is(e, ledger.ErrFilterTooBroad) && e != ledger.ErrFilterTooBroad { //nolint:errorlint // the chain is walked by hand
			text = e.Error()
		}
	}
	return text
}

// acceptProblem is the refusal of the step that accepts; nil when it is none.
func acceptProblem(err error) *Problem {
	var refusal accept.Refusal
	if !errors.As(err, &refusal) {
		return nil
	}
	p := problem(Code(refusal.Code()), refusal.Error())
	switch e := refusal.(type) {
	case *accept.InvalidError:
		p.Detail, p.More = "", e.More
		for _, f := range e.Problems {
			p.Errors = append(p.Errors, FieldError{f.Field, f.Rule, f.Message})
		}
	case *accept.QuotaError:
		p.Limit, p.Used, p.Requested, p.ResetsAt = &e.Limit, &e.Used, &e.Requested, e.ResetsAt
		if !e.ResetsAt.IsZero() {
			p.retryAfter = max(time.Second, time.Until(e.ResetsAt))
		}
	case *accept.RateError:
		p.retryAfter = max(time.Second, e.RetryAfter)
	case *accept.TooLargeError:
		p.Limit = &e.Limit
	case *accept.BacklogError:
		p.Limit, p.Used = &e.Limit, &e.Waiting
	case *accept.BusyError:
		p.retryAfter = e.RetryAfter
	case *accept.UnavailableError:
		// The cause is the database's or the storage's own text: for the log.
		p.Detail, p.retryAfter = "", unavailableRetry
		if e.FateUnknown {
			p.Detail = "it is not known whether the message was accepted"
			p.MessageID, p.Fate = e.MessageID, "unknown"
		}
		if tooLarge := new(http.MaxBytesError); errors.As(e, &tooLarge) {
			return problem(codeRequestTooLarge, "")
		}
		if errors.Is(e, context.Canceled) {
			p.retryAfter = time.Second
		}
	}
	return p
}
