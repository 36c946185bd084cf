package testserver

import (
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Reserved ports lie below the range from which Linux gives ports to outgoing
// connections and to listeners on port 0 (32768 and up), so only a server with
// a fixed port can be in the way.
const (
	firstPort = 18000
	portCount = 12000
)

// reservePort returns a loopback port that nobody listens on and that no other
// test process gets before this test ends. Programs that cannot report the port
// they chose themselves are started on it.
func reservePort(tb testing.TB) int {
	tb.Helper()
	dir := filepath.Join(sharedDir(tb), "ports")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		tb.Fatalf("reserve a port: %v", err)
	}
	const tries = 1000
	for range tries {
		port := firstPort + rand.IntN(portCount)
		lock, err := tryLock(filepath.Join(dir, strconv.Itoa(port)), syscall.LOCK_EX)
		if err != nil {
			tb.Fatalf("reserve a port: %v", err)
		}
		if lock == nil {
			continue
		}
		listener, err := net.Listen("tcp", loopback(port))
		if err != nil {
			lock.release()
			continue
		}
		listener.Close()
		tb.Cleanup(lock.release)
		return port
	}
	tb.Fatalf("reserve a port: no free one found in %d tries", tries)
	return 0
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
