// Package postledger is the vocabulary of Postledger: the words every other
// package speaks, and the table of the states a delivery may move through.
// It imports the standard library only and does nothing by itself.
//
// A message is content submitted once by an app; each of its recipients gets
// one delivery, the ledger's row and the unit of state. Deliveries that leave
// in one transaction with the next hop share an envelope. A worker leases a
// delivery (a fence counts how often), a transport reports an outcome, and a
// settle records it. docs/architecture.md tells how the packages fit together.
package postledger
