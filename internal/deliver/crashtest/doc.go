// Package crashtest kills delivering processes at random moments and proves
// from three independent witnesses that nothing was lost and nothing was sent
// twice: the next hop's own record (a fsyncing sink in another process), the
// wire journals the killed processes left, and the ledger.
//
// The process is the caller's: a test binary's worker, or the program that
// users run. What must hold (invariants 4, 5 and 6):
//
//   - No address stands twice in the sink's record; where the policy sends what
//     is unconfirmed again, none that the ledger does not mark as sent again, and
//     none more often than it was in doubt.
//   - In the end every delivery is settled. Sent ones are in the record,
//     refused ones are not, and what is in it is sent or unconfirmed.
//   - An unconfirmed delivery has a begun record, in doubt and under its last
//     fence, in a journal that some kill left; and no answered one.
//   - What a killed process had leased and not begun is not in the record at
//     that moment.
package crashtest
