//go:build race

package main_test

// raced builds the binary as the tests are built: with the race detector.
const raced = true
