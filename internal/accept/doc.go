// Package accept is the first step of a message's way: it takes a request,
// says all that is wrong with it, or makes it rows of the ledger. It never
// sends.
//
// # What is promised
//
//   - All or nothing (invariant 2): a refused request leaves no row and no
//     stored attachment. An answer of success comes after the commit.
//   - Once (invariant 1): of requests with the same app and key one is
//     accepted, and the others get its answer, marked as replayed. Another
//     request under the key is refused. A request that failed does not lock its
//     key. A known key answers whatever times, profile, quota, rate and load
//     say, so a repetition is answered also when it could not be accepted any
//     more; its attachments are not read, and it uses up nothing.
//   - What is accepted can be composed: nothing that the composer would refuse
//     gets into the ledger. CR, LF, NUL and other controls refuse the request
//     and are never stripped (RFC 5322 §2.2).
//   - Recipients of a message are unique by folded address, so nobody gets two
//     copies of it.
//   - Quota is exact (invariant 7): the ledger charges it with the rows.
//
// # The order of things
//
// Shape, fingerprint, policy, times, rate, backlog; then, only if there are
// attachments, whether quota, ledger and storage would take them, and their
// upload; then one transaction, which checks key, policy and quota. When the
// profile changed in between, the request is checked against the new one, three
// times at most.
//
// The transaction is where a key is looked up, so that a plain request costs
// nothing beside it. A key is looked up before it where more than rows depends
// on it: attachments and resends (content would be read), profiles with a bound
// of immediate messages (a replay does not count), batches (their audit line
// and checks are about the new messages only). And it is looked up after a
// refusal that came before the transaction or kept it from answering.
//
// # What a crash leaves behind
//
// Before the commit: stored attachments without a row, which recovery removes
// when they are 48 hours old. After it: everything; the wake-up is lost, and
// the workers' own clock finds the rows.
package accept
