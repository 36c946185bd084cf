package client

// Code is the stable name of a refusal. It is an error, so that
//
//	errors.Is(err, client.ErrQuotaExceeded)
//
// finds it in whatever a method returned. The server may be newer than the
// client and have codes that are not listed here.
type Code string

// Error is the code itself.
func (c Code) Error() string { return string(c) }

// What is wrong with the request itself. Nothing was changed.
const (
	// ErrBadInput (400): the request breaks a rule; Error.Fields says where.
	ErrBadInput Code = "bad_input"
	// ErrRequestTooLarge (413): more than 32 MiB without attachments.
	ErrRequestTooLarge Code = "request_too_large"
	// ErrRequestTimeout (408): the body stopped coming for 30 seconds.
	ErrRequestTimeout Code = "request_timeout"
	// ErrRouteUnknown (404), ErrMethodNotAllowed (405) and
	// ErrUnsupportedMediaType (415): the server is not of this client's version,
	// or the base URL has another path.
	ErrRouteUnknown         Code = "route_unknown"
	ErrMethodNotAllowed     Code = "method_not_allowed"
	ErrUnsupportedMediaType Code = "unsupported_media_type"
	// ErrFilterTooBroad (422): no index serves the filter; Detail says what to
	// add.
	ErrFilterTooBroad Code = "filter_too_broad"
)

// Who asks.
const (
	// ErrUnauthorized (401): the key is unknown, revoked or has expired, or its
	// app was removed.
	ErrUnauthorized Code = "unauthorized"
	// ErrForbidden (403): the key lacks the scope that the call needs.
	ErrForbidden Code = "forbidden"
)

// What is asked for. Another app's is unknown like one that does not exist.
const (
	// ErrMessageUnknown (404): there is no such message.
	ErrMessageUnknown Code = "message_unknown"
	// ErrMessageGone (410): the message or its content is not kept any more. A
	// request whose idempotency key stood for it is never sent again.
	ErrMessageGone Code = "message_gone"
	// ErrNotResendable (409): no delivery that was asked for can be sent again.
	ErrNotResendable Code = "not_resendable"
	// ErrSandboxMailUnknown (404): the sandbox keeps the last messages only.
	ErrSandboxMailUnknown Code = "sandbox_mail_unknown"
	// ErrSuppressionUnknown (404): the address is not on the app's list.
	ErrSuppressionUnknown Code = "suppression_unknown"
	// ErrWebhookUnknown (404): there is no such webhook.
	ErrWebhookUnknown Code = "webhook_unknown"
	// ErrWebhooksTooMany (409): an app may have 16.
	ErrWebhooksTooMany Code = "webhooks_too_many"
	// ErrWebhookDisabled (409): nothing is sent to it.
	ErrWebhookDisabled Code = "webhook_disabled"
	// ErrDeliveryUnknown (404): the webhook's app has no such delivery.
	ErrDeliveryUnknown Code = "delivery_unknown"
	// ErrNotSettled (409): the delivery waits or is being sent.
	ErrNotSettled Code = "delivery_not_settled"
	// ErrAppUnknown (404): there is no such app.
	ErrAppUnknown Code = "app_unknown"
	// ErrAppExists (409): another app has the name.
	ErrAppExists Code = "app_exists"
	// ErrAppRemoved (409): the app was removed; nothing can be added to it.
	ErrAppRemoved Code = "app_removed"
	// ErrKeyUnknown (404): there is no such API key.
	ErrKeyUnknown Code = "key_unknown"
	// ErrJobUnknown (404): there is no such job, or it has finished.
	ErrJobUnknown Code = "job_unknown"
	// ErrScheduleUnknown (404): there is no such schedule.
	ErrScheduleUnknown Code = "schedule_unknown"
	// ErrGrantUnknown (404): the app was never granted the profile.
	ErrGrantUnknown Code = "grant_unknown"
)

// Profiles.
const (
	// ErrProfileRequired (400): none was named, and the app may not use the
	// default one, or there is none.
	ErrProfileRequired Code = "profile_required"
	// ErrInvalidProfile (400): the configuration breaks a rule; Error.Fields
	// says where. A changed host needs the password again.
	ErrInvalidProfile Code = "invalid_profile"
	// ErrProfileNotAllowed (403): the app may not use the profile.
	ErrProfileNotAllowed Code = "profile_not_allowed"
	// ErrProfileUnknown (404): there is no such profile.
	ErrProfileUnknown Code = "profile_unknown"
	// ErrProfileExists (409): another profile has the name.
	ErrProfileExists Code = "profile_exists"
	// ErrProfileIsDefault (409): the default profile can neither be removed
	// nor made an ordinary one.
	ErrProfileIsDefault Code = "profile_is_default"
	// ErrProfileRemoved (409): a removed profile sends nothing.
	ErrProfileRemoved Code = "profile_removed"
	// ErrRevisionConflict (409): somebody changed the profile or audience since it was read. Read it
	// again and decide anew.
	ErrRevisionConflict Code = "revision_conflict"
	// ErrSecretsUnreadable (409): the server cannot open the profile's
	// credentials. Give them again.
	ErrSecretsUnreadable Code = "secrets_unreadable"
)

// Audiences.
const (
	// ErrInvalidAudience (400): it does not fit its source as that is now, says
	// nothing, or lacks a parameter; Error.Fields says where. A source that the
	// app may not use is unknown.
	ErrInvalidAudience Code = "invalid_audience"
	// ErrAudienceUnknown (404): the app has no such audience, or not this version.
	ErrAudienceUnknown Code = "audience_unknown"
	// ErrAudienceExists (409): another audience of the app has the name.
	ErrAudienceExists Code = "audience_exists"
	// ErrAudienceRemoved (409): a removed audience can be read only.
	ErrAudienceRemoved Code = "audience_removed"
	// ErrAudienceLimit (409): an app has at most 1,000 audiences.
	ErrAudienceLimit Code = "audience_limit"
	// ErrSourceUnavailable (503): the application's database does not answer, or
	// does not fit what the configuration says of it. Nothing was saved.
	ErrSourceUnavailable Code = "source_unavailable"
	// ErrCountTimeout (504): counting took longer than the server allows.
	ErrCountTimeout Code = "count_timeout"
)

// Limits.
const (
	// ErrQuotaExceeded (429): more recipients than the app may have in any
	// 1,440 minutes; Error.Usage says how many, and when there are more.
	ErrQuotaExceeded Code = "quota_exceeded"
	// ErrRateExceeded (429): too many requests with this key, or more immediate
	// messages a minute than the profile takes. The client has tried again
	// already, unless Error.RetryAfter is beyond its patience.
	ErrRateExceeded Code = "rate_exceeded"
	// ErrBacklogFull (409): batches only: more deliveries wait than the
	// profile's pace sends in 24 hours.
	ErrBacklogFull Code = "backlog_full"
	// ErrAttachmentsTooLarge (413): more bytes than the profile allows for the
	// attachments of one message; Error.Usage.Limit says how many.
	ErrAttachmentsTooLarge Code = "attachments_too_large"
	// ErrAttachmentStorageFull (507): the server has no room for attachments.
	ErrAttachmentStorageFull Code = "attachment_storage_full"
	// ErrAttachmentLost (409): an attachment of a stored message is missing.
	ErrAttachmentLost Code = "attachment_lost"
	// ErrCategoryNeedsConsent (403): marketing needs recipients' consent.
	ErrCategoryNeedsConsent Code = "category_needs_consent"
)

// Idempotency keys.
const (
	// ErrIdempotencyMismatch (422): the key was used for a request with other
	// content, or twice in one batch.
	ErrIdempotencyMismatch Code = "idempotency_mismatch"
	// ErrIdempotencyInProgress (409): a request with the key is being written
	// at this moment. The client has tried again already.
	ErrIdempotencyInProgress Code = "idempotency_in_progress"
)

// The server's own trouble.
const (
	// ErrInternal (500): a fault of the server; its log has Error.RequestID.
	ErrInternal Code = "internal"
	// ErrMailUnavailable (503): ledger or blob store could not do it. Unless
	// Error.FateUnknown is set, nothing was changed.
	ErrMailUnavailable Code = "mail_unavailable"
	// ErrOverloaded (503): the ledger holds as many waiting deliveries, or the
	// server as many waiting requests, as it may.
	ErrOverloaded Code = "overloaded"
)

// Codes lists every code that this client knows.
func Codes() []Code {
	return []Code{
		ErrBadInput, ErrRequestTooLarge, ErrRequestTimeout, ErrRouteUnknown, ErrMethodNotAllowed,
		ErrUnsupportedMediaType, ErrFilterTooBroad,
		ErrUnauthorized, ErrForbidden,
		ErrMessageUnknown, ErrMessageGone, ErrNotResendable, ErrSandboxMailUnknown, ErrSuppressionUnknown,
		ErrWebhookUnknown, ErrWebhooksTooMany, ErrWebhookDisabled, ErrDeliveryUnknown, ErrNotSettled,
		ErrAppUnknown, ErrAppExists, ErrAppRemoved, ErrKeyUnknown, ErrGrantUnknown, ErrJobUnknown, ErrScheduleUnknown,
		ErrProfileRequired, ErrInvalidProfile, ErrProfileNotAllowed, ErrProfileUnknown, ErrProfileExists,
		ErrProfileIsDefault, ErrProfileRemoved, ErrRevisionConflict, ErrSecretsUnreadable,
		ErrInvalidAudience, ErrAudienceUnknown, ErrAudienceExists, ErrAudienceRemoved, ErrAudienceLimit,
		ErrSourceUnavailable, ErrCountTimeout,
		ErrQuotaExceeded, ErrRateExceeded, ErrBacklogFull, ErrAttachmentsTooLarge, ErrAttachmentStorageFull,
		ErrAttachmentLost, ErrCategoryNeedsConsent,
		ErrIdempotencyMismatch, ErrIdempotencyInProgress,
		ErrInternal, ErrMailUnavailable, ErrOverloaded,
	}
}
