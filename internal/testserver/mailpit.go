package testserver

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const (
	mailpitSMTPVariable = "POSTLEDGER_TEST_MAILPIT_SMTP"
	mailpitHTTPVariable = "POSTLEDGER_TEST_MAILPIT_HTTP"
)

// Mailpit runs a Mailpit for the length of the test and returns the address of
// its SMTP server and the URL of its API (without a trailing slash). It keeps
// every message, accepts any login, also without TLS, and has chaos enabled
// (PUT /api/v1/chaos). Further arguments are Mailpit's own.
//
// When POSTLEDGER_TEST_MAILPIT_SMTP and POSTLEDGER_TEST_MAILPIT_HTTP are set,
// they name the server to use. Other tests use it too: search for your own mail.
func Mailpit(tb testing.TB, args ...string) (smtpAddr, httpURL string) {
	tb.Helper()
	smtpAddr, httpURL = os.Getenv(mailpitSMTPVariable), os.Getenv(mailpitHTTPVariable)
	if smtpAddr != "" && httpURL != "" && len(args) == 0 {
		return smtpAddr, httpURL
	}
	path := program(tb, "mailpit")
	smtpAddr = loopback(reservePort(tb))
	listen := loopback(reservePort(tb))
	httpURL = "http://" + listen
	args = append([]string{
		"--smtp", smtpAddr,
		"--listen", listen,
		"--database", filepath.Join(tb.TempDir(), "mailpit.db"),
		"--max", "0", // no limit
		"--smtp-auth-accept-any",
		"--smtp-auth-allow-insecure",
		"--smtp-disable-rdns",
		"--enable-chaos",
		"--disable-version-check",
		"--quiet",
	}, slices.Clone(args)...)
	// readyz answers when both servers and the database are up.
	serve(tb, exec.Command(path, args...), func() bool { return httpOK(httpURL + "/readyz") })
	return smtpAddr, httpURL
}

func httpOK(url string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err == nil && response.StatusCode == http.StatusOK
}
