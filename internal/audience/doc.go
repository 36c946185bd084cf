// Package audience is the step between an application's database and a mailing:
// saved lenses that yield recipients. It checks what somebody wants to save, and
// counts and shows whom it would reach before anyone is mailed.
//
// What must hold:
//
//   - An audience is checked against the source's catalogue as it is now, both
//     when it is saved and whenever it is used. What does not fit is an error that
//     names its place, and reads nobody (invariant 11).
//   - An app uses only the sources that the configuration gives it, through the
//     floors that stand there. A source that it may not use answers like one that
//     does not exist (invariant 18).
//   - matched = mailable + no_address + invalid + duplicate + suppressed. Each row
//     is one of them, the first that applies in the order no_address, invalid,
//     duplicate, suppressed, mailable. A duplicate is a row whose folded address
//     another row had; of suppressed and mailable rows no two have one address.
//   - A count holds one page of rows, at most 8 MiB of hashes and, beyond half a
//     million different addresses, a file of 16 bytes for each; see distinct. It
//     ends with its context, and within its time.
package audience
