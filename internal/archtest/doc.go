// Package archtest holds tests that read the source tree itself: which package
// may import which, how large files are, what packages are called, and what no
// file may contain. docs/architecture.md says why; this package makes it stay so.
//
// Each rule is a function from parsed files to faults, and each is also run on
// small trees that break it, so that a rule cannot fall silent.
package archtest
