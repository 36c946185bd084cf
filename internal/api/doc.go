// Package api is Postledger's HTTP API. It translates: a request becomes a call
// of a step or of the ledger, and what comes back becomes an answer or a
// problem document. No rule about mail stands here.
//
// # Contract
//
//   - Every refusal is a problem document (RFC 9457, application/problem+json)
//     with a stable code; errors.go is the table of them and docs/errors.md is
//     made from it. That holds for unknown routes, wrong methods and broken
//     JSON too. No document repeats a value of the request: it may be an
//     address or a secret.
//   - A request is understood whole or refused: unknown and repeated members of
//     a JSON object, unknown, repeated and empty query parameters, nulls and
//     text that is not UTF-8 are errors that name the field (RFC 8259 §4 leaves
//     repeated names open, RFC 7493 §2.3 forbids them).
//   - Authentication is "Authorization: Bearer pl_…" (RFC 6750 §2.1). An app's
//     key sees its app only: an id of another app answers exactly like one that
//     does not exist (invariant 18). A key without the scope that a route needs
//     is refused before the route looks at anything.
//   - Attachments of multipart/form-data requests (RFC 7578) stream to the step
//     that stores them; nothing here holds more of one than a read buffer.
//   - POST /v1/messages answers 202 when the message is in the ledger, and 200
//     when "Prefer: wait=N" (RFC 7240 §4.3) was given and every delivery settled
//     within N seconds. Replays carry "replayed": true and the header
//     Idempotent-Replayed.
//   - The OpenAPI document is made from the registered routes, and the page at
//     /docs from that document; neither can differ from what is served.
//
// Nothing of a request survives here: whatever an answer promises was committed
// by the step that was called.
package api
