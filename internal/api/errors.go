package api

import (
	"net/http"

	"github.com/postledger/postledger/internal/accept"
)

// Code is the stable name of a refusal.
type Code string

// Entry is one line of the code table.
type Entry struct {
	Code   Code
	Status int
	Title  string
	// When says what leads to it and, where it is not plain, what to do.
	When string
}

// The codes. Those that a step refuses with are its own.
const (
	codeBadInput        = Code(accept.CodeBadInput)
	codeUnauthorized    = Code(accept.CodeUnauthorized)
	codeMessageUnknown  = Code(accept.CodeUnknown)
	codeMessageGone     = Code(accept.CodeGone)
	codeProfileUnknown  = Code(accept.CodeProfile)
	codeProfileRemoved  = Code(accept.CodeRemoved)
	codeProfileRequired = Code(accept.CodeNoProfile)
	codeQuota           = Code(accept.CodeQuota)
	codeRate            = Code(accept.CodeRate)
	codeUnavailable     = Code(accept.CodeUnavailable)
	codeOverloaded      = Code(accept.CodeOverloaded)

	codeForbidden         Code = "forbidden"
	codeRouteUnknown      Code = "route_unknown"
	codeMethodNotAllowed  Code = "method_not_allowed"
	codeMediaType         Code = "unsupported_media_type"
	codeRequestTooLarge   Code = "request_too_large"
	codeRequestTimeout    Code = "request_timeout"
	codeFilterTooBroad    Code = "filter_too_broad"
	codeAppUnknown        Code = "app_unknown"
	codeAppExists         Code = "app_exists"
	codeAppRemoved        Code = "app_removed"
	codeKeyUnknown        Code = "key_unknown"
	codeGrantUnknown      Code = "grant_unknown"
	codeNotSuppressed     Code = "suppression_unknown"
	codeSandboxUnknown    Code = "sandbox_mail_unknown"
	codeInvalidAudience   Code = "invalid_audience"
	codeAudienceUnknown   Code = "audience_unknown"
	codeAudienceExists    Code = "audience_exists"
	codeAudienceRemoved   Code = "audience_removed"
	codeAudienceLimit     Code = "audience_limit"
	codeSourceUnavailable Code = "source_unavailable"
	codeCountTimeout      Code = "count_timeout"
	codeProfileExists     Code = "profile_exists"
	codeProfileIsDefault  Code = "profile_is_default"
	codeRevisionConflict  Code = "revision_conflict"
	codeInvalidProfile    Code = "invalid_profile"
	codeSecretsUnreadable Code = "secrets_unreadable"
	codeJobUnknown        Code = "job_unknown"
	codeScheduleUnknown   Code = "schedule_unknown"
	codeWebhookUnknown    Code = "webhook_unknown"
	codeWebhooksTooMany   Code = "webhooks_too_many"
	codeWebhookDisabled   Code = "webhook_disabled"
	codeDeliveryUnknown   Code = "delivery_unknown"
	codeNotSettled        Code = "delivery_not_settled"
	codeInternal          Code = "internal"
)

// table is every code that an answer may carry, by status.
var table = []Entry{
	{codeBadInput, http.StatusBadRequest, "The request is not valid", "A header, query parameter or member of the body breaks a rule. `errors` names each field, the rule, and what to do; nothing was changed."},
	{codeProfileRequired, http.StatusBadRequest, "A profile must be named", "The request names no profile, and the app may not use the default one, or there is none."},
	{codeInvalidProfile, http.StatusBadRequest, "The profile is not valid", "A profile's configuration, settings or credentials break a rule; `errors` names each field. A changed host needs the password again."},
	{codeInvalidAudience, http.StatusBadRequest, "The audience is not valid", "An audience does not fit its source as it is now, says nothing, or lacks a parameter; `errors` names each place, such as `lens.where.all[1].age`. A source that the app may not use is as unknown as one that does not exist."},
	{codeUnauthorized, http.StatusUnauthorized, "A valid API key is needed", "There is no `Authorization: Bearer pl_…` header, or its key is unknown, revoked or expired, or its app was removed."},
	{codeForbidden, http.StatusForbidden, "The API key may not do this", "The key is valid and lacks the scope that this route needs, or it is an app's key where an operator's is needed."},
	{Code(accept.CodeNotAllowed), http.StatusForbidden, "The app may not use this profile", "The app has grants, and none for this profile; or it has none, and this is not the default profile."},
	{codeRouteUnknown, http.StatusNotFound, "There is nothing at this address", "No route has this path."},
	{codeMessageUnknown, http.StatusNotFound, "There is no such message", "No message has this id, or it is another app's: the answer is the same."},
	{codeAppUnknown, http.StatusNotFound, "There is no such app", "No app has this id."},
	{codeKeyUnknown, http.StatusNotFound, "There is no such API key", "No API key has this id."},
	{codeProfileUnknown, http.StatusNotFound, "There is no such profile", "No profile has this name or id."},
	{codeGrantUnknown, http.StatusNotFound, "There is no such grant", "The app has never been granted this profile."},
	{codeAudienceUnknown, http.StatusNotFound, "There is no such audience", "The app has no audience of this name or id, or not this version of it."},
	{codeNotSuppressed, http.StatusNotFound, "The address is not suppressed", "The address is not on the app's suppression list."},
	{codeSandboxUnknown, http.StatusNotFound, "The sandbox does not have it", "The sandbox keeps the last messages only, in memory, and does not have this one."},
	{codeJobUnknown, http.StatusNotFound, "There is no such job", "No job has this id, or it has finished."},
	{codeScheduleUnknown, http.StatusNotFound, "There is no such schedule", "No schedule has this name."},
	{codeWebhookUnknown, http.StatusNotFound, "There is no such webhook", "No webhook has this id, or it is another app's: the answer is the same."},
	{codeDeliveryUnknown, http.StatusNotFound, "There is no such delivery", "No delivery has this id, or it is not of the webhook's app: the answer is the same."},
	{codeMethodNotAllowed, http.StatusMethodNotAllowed, "The method is not allowed here", "The path exists with other methods; the Allow header lists them."},
	{codeRequestTimeout, http.StatusRequestTimeout, "The request came too slowly", "The body stopped coming for too long."},
	{codeAppExists, http.StatusConflict, "An app has this name", "Names of apps are unique; the name of a removed app is free."},
	{codeAppRemoved, http.StatusConflict, "The app was removed", "Nothing can be added to an app that was removed."},
	{codeAudienceExists, http.StatusConflict, "An audience has this name", "Names of an app's audiences are unique; the name of a removed audience is free."},
	{codeAudienceRemoved, http.StatusConflict, "The audience was removed", "A removed audience can be read, and neither changed nor counted."},
	{codeAudienceLimit, http.StatusConflict, "The app has too many audiences", "An app has at most 1,000 audiences: remove those that are not used."},
	{codeProfileExists, http.StatusConflict, "A profile has this name", "Names of profiles are unique; the name of a removed profile is free."},
	{codeProfileIsDefault, http.StatusConflict, "The profile is the default one", "The default profile can be neither removed nor made an ordinary one: make another the default first."},
	{codeProfileRemoved, http.StatusConflict, "The profile was removed", "A removed profile sends nothing and cannot be changed."},
	{codeRevisionConflict, http.StatusConflict, "It has changed", "Someone changed the profile, audience or webhook since the revision that the request names: read it again."},
	{codeSecretsUnreadable, http.StatusConflict, "The credentials cannot be read", "They were sealed with a key that this server does not have, or for another host: give a profile's again, rotate a webhook's secret."},
	{codeWebhooksTooMany, http.StatusConflict, "The app has too many webhooks", "An app may have 16: each is told of every delivery."},
	{codeWebhookDisabled, http.StatusConflict, "The webhook is disabled", "Nothing is sent to it: enable it first."},
	{codeNotSettled, http.StatusConflict, "The delivery has not settled", "It waits or is being sent, which no webhook is told of."},
	{Code(accept.CodeBacklog), http.StatusConflict, "Too much waits for this profile", "Batches only: more deliveries wait than the profile's pace sends in 24 hours."},
	{Code(accept.CodeInProgress), http.StatusConflict, "This request is being written", "Another process is writing a request with the same idempotency key: come again after Retry-After."},
	{Code(accept.CodeNotResendable), http.StatusConflict, "Nothing can be sent again", "No delivery of the message has failed, or none of those that were named can be sent again."},
	{codeMessageGone, http.StatusGone, "The message is not kept any more", "The message or its content was removed by retention. A request whose idempotency key stood for it is never sent again."},
	{Code(accept.CodeLost), http.StatusGone, "An attachment is lost", "An attachment of the message is missing from storage, or is not what was stored."},
	{codeRequestTooLarge, http.StatusRequestEntityTooLarge, "The request is too large", "The body is larger than this route takes: 32 MiB for messages, attachments of multipart requests apart."},
	{Code(accept.CodeTooLarge), http.StatusRequestEntityTooLarge, "The attachments are too large", "The attachments of one message are larger together than the profile allows; `limit` is in bytes."},
	{codeMediaType, http.StatusUnsupportedMediaType, "The media type is not supported", "The body is neither application/json nor, where it is allowed, multipart/form-data; or it is encoded."},
	{Code(accept.CodeConsent), http.StatusUnprocessableEntity, "This category needs consent", "Marketing mail needs the recipient's consent, which is not kept yet."},
	{Code(accept.CodeMismatch), http.StatusUnprocessableEntity, "The idempotency key has another request", "The key was used for a request with other content, or twice in one batch."},
	{codeFilterTooBroad, http.StatusUnprocessableEntity, "The filter is too broad", "No index serves this filter on a large ledger: `detail` says what to add."},
	{codeQuota, http.StatusTooManyRequests, "The quota is used up", "The request would pass the limit of recipients in any 1,440 minutes: `limit`, `used`, `requested`, and `resets_at` when enough of it will be free."},
	{codeRate, http.StatusTooManyRequests, "Too many requests", "Too many requests with this key, too many failed logins from this source, or more immediate messages than the profile takes a minute: come again after Retry-After."},
	{codeInternal, http.StatusInternalServerError, "Something went wrong here", "A fault of the server; its log has the request id."},
	{codeUnavailable, http.StatusServiceUnavailable, "Mail cannot be taken now", "The ledger or the storage for attachments could not do it. With `fate: unknown` the message named by `message_id` may have been accepted: repeat the request with the same idempotency key."},
	{codeSourceUnavailable, http.StatusServiceUnavailable, "The source cannot be read now", "The application's database does not answer, or does not fit what the configuration says of it. Nothing was saved; the server's log says why."},
	{codeOverloaded, http.StatusServiceUnavailable, "Too much is waiting", "The whole ledger holds as many waiting deliveries, or the server as many waiting requests, or counts of audiences, as it is allowed to."},
	{codeCountTimeout, http.StatusGatewayTimeout, "The count took too long", "Counting the audience took longer than the server allows: narrow it, or give its source an index."},
	{Code(accept.CodeStorageFull), http.StatusInsufficientStorage, "The storage for attachments is full", "There is no room for the message's attachments."},
}

// Errors lists every code that an answer may carry, by status.
func Errors() []Entry { return append([]Entry(nil), table...) }

// entry is a code's line; a code without one is a fault of ours.
func entry(c Code) Entry {
	for _, e := range table {
		if e.Code == c {
			return e
		}
	}
	return Entry{codeInternal, http.StatusInternalServerError, "Something went wrong here", ""}
}
