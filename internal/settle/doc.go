// Package settle is the only writer of outcomes. It turns what a transport
// reported into a settlement (Decide), and writes settlements in batches
// (Settler), in one transaction with messages' open counts, history and
// counters.
//
// What survives: a settlement counts only once its transaction has committed.
// Until then the delivery stays leased and its journal slot taken, so that a
// crash before the commit is answered by the journal. A commit without an
// answer is repeated: the ledger's guards refuse what has been written already.
package settle
