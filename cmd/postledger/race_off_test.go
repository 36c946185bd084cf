//go:build !race

package main_test

// raced builds the binary as the tests are built: without the race detector.
const raced = false
