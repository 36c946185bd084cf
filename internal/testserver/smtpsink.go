package testserver

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

// SMTPSink runs Postfix's smtp-sink with the arguments given (smtp-sink(1)) on
// a free loopback port for the length of the test, and returns its address.
// One process has one behaviour; start several for several. Examples:
//
//	SMTPSink(t)                       // accepts and discards
//	SMTPSink(t, "-q", ".")            // drops the connection after the final dot
//	SMTPSink(t, "-f", "RCPT")         // 500 to every RCPT; -r RCPT: 450
//	SMTPSink(t, "-d", dir+"/%M.")     // keeps each message in a file
//
// As root it keeps root's rights unless "-u" is among the arguments, so that it
// can write into the test's directories.
func SMTPSink(tb testing.TB, args ...string) (addr string) {
	tb.Helper()
	path := program(tb, "smtp-sink")
	port := reservePort(tb)
	if os.Getuid() == 0 && !slices.Contains(args, "-u") {
		args = append([]string{"-u", "root"}, args...)
	}
	// The last argument is the listener's backlog; 256 is more connections at
	// once than a test opens.
	args = append(slices.Clone(args), loopback(port), "256")
	serve(tb, exec.Command(path, args...), func() bool { return listening(port) })
	return loopback(port)
}
