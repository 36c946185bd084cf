package postledger

// Reason is a stable code that says why a delivery is in its state.
type Reason string

// The reasons, by the state they explain.
const (
	// queued: why it waits again after it was leased.

	// ReasonDeferred: a charged attempt was refused for now (a 4yz for this recipient or message).
	ReasonDeferred Reason = "deferred"
	// ReasonThrottled: the next hop asked us to slow down; nothing was charged.
	ReasonThrottled Reason = "throttled"
	// ReasonUnavailable: the next hop could not be reached; nothing was charged.
	ReasonUnavailable Reason = "unavailable"
	// ReasonMisconfigured: credentials or configuration were refused; the profile is paused.
	ReasonMisconfigured Reason = "misconfigured"
	// ReasonReturned: handed back before its final dot (stop, lost worker, stale gates).
	ReasonReturned Reason = "returned"
	// ReasonStorageUnavailable: its attachments could not be read; nothing was charged.
	ReasonStorageUnavailable Reason = "storage_unavailable"
	// ReasonResend: an operator or the profile's policy sends an unconfirmed delivery again.
	ReasonResend Reason = "resend"

	// sent.

	// ReasonSandbox: the sandbox transport kept it; nothing left this machine.
	ReasonSandbox Reason = "sandbox"
	// ReasonResolved: an operator said that an unconfirmed delivery was sent.
	ReasonResolved Reason = "resolved"

	// unconfirmed.

	// ReasonNoAnswer: everything was sent and no answer came, or none that could be read.
	ReasonNoAnswer Reason = "no_answer"
	// ReasonWorkerLost: the worker that held the lease is lost and left no proof.
	ReasonWorkerLost Reason = "worker_lost"
	// ReasonRestored: the ledger may be older than the world; it was open in a restored backup.
	ReasonRestored Reason = "restored"

	// failed.

	// ReasonRejectedRecipient: the next hop refused this recipient for good.
	ReasonRejectedRecipient Reason = "rejected_recipient"
	// ReasonRejectedMessage: the next hop refused the message for good.
	ReasonRejectedMessage Reason = "rejected_message"
	// ReasonExpired: the caller's deadline passed before it could be sent.
	ReasonExpired Reason = "expired"
	// ReasonRetriesExhausted: the retry horizon passed with a charged failure.
	ReasonRetriesExhausted Reason = "retries_exhausted"
	// ReasonContentLost: an attachment or body needed for the bytes is missing.
	ReasonContentLost Reason = "content_lost"
	// ReasonNotSupported: the next hop lacks what this message needs (SMTPUTF8, SIZE).
	ReasonNotSupported Reason = "not_supported"

	// suppressed.

	// ReasonSuppressionList: the address is on the app's suppression list.
	ReasonSuppressionList Reason = "suppression_list"

	// canceled.

	// ReasonCanceledByApp: the app took it back.
	ReasonCanceledByApp Reason = "canceled_by_app"
	// ReasonCanceledByOperator: an operator took it back.
	ReasonCanceledByOperator Reason = "canceled_by_operator"
	// ReasonProfileRemoved: its profile was removed.
	ReasonProfileRemoved Reason = "profile_removed"
	// ReasonAccessRevoked: the app may no longer use the profile.
	ReasonAccessRevoked Reason = "access_revoked"
)

// Reasons lists every code.
func Reasons() []Reason {
	return []Reason{
		ReasonDeferred, ReasonThrottled, ReasonUnavailable, ReasonMisconfigured, ReasonReturned, ReasonStorageUnavailable, ReasonResend,
		ReasonSandbox, ReasonResolved,
		ReasonNoAnswer, ReasonWorkerLost, ReasonRestored,
		ReasonRejectedRecipient, ReasonRejectedMessage, ReasonExpired, ReasonRetriesExhausted, ReasonContentLost, ReasonNotSupported,
		ReasonSuppressionList,
		ReasonCanceledByApp, ReasonCanceledByOperator, ReasonProfileRemoved, ReasonAccessRevoked,
	}
}
