// Package outboxtest is what every outbox store must pass: call Run from the
// store's own test.
package outboxtest
