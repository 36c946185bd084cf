// Package webhook tells an app's endpoints what became of its deliveries, as the
// Standard Webhooks specification has it (standardwebhooks.com, version 1).
//
// A request is a POST of JSON, with three headers:
//
//	webhook-id         the same for every try of one event, for the receiver to
//	                   know a repeated one by; see EventID
//	webhook-timestamp  seconds since 1970 of this try; receivers refuse what is
//	                   more than five minutes off
//	webhook-signature  "v1," and the base64 HMAC-SHA256 over id.timestamp.body,
//	                   one for each valid secret, separated by spaces
//
// An answer of 2xx is success and nothing else is. Redirects are not followed.
// 410 says that the endpoint is gone. 429, 502, 503 and 504 ask for patience;
// Retry-After is honoured up to a day. A try has 15 seconds, of the answer the
// first KiB is kept. Tries go on for 24 hours (Schedule).
//
// Events come at least once and in no promised order: a receiver keeps the ids it
// has seen, and compares timestamps.
//
// Whoever registers an endpoint makes this process open connections. Guard decides
// where to, by the address that is dialed and not by the name that was given:
// a name may lead to another address at each look-up.
package webhook
