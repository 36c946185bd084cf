// Package metrics is what Prometheus sees of a process. names.go has every
// name; docs/metrics.md is made from it and a test keeps the two the same.
//
// Nothing is global: each process (and each test) has a registry of its own.
// Labels come from small sets: profiles' names, lanes, states and codes. No
// label holds an address, an app's id or anything a caller chose.
//
// What has to be asked of the ledger is asked by [Metrics.Sample], which the
// process calls every ten seconds, and never by a scrape: who scrapes must not
// decide how often the database is asked.
package metrics
