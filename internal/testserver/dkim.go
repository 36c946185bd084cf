package testserver

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"io/fs"
	"os/exec"
	"strings"
	"testing"
)

// DKIMSignature is what an independent verifier says about one signature.
type DKIMSignature struct {
	Domain    string // d=
	Selector  string // s=
	Algorithm string // a=
	Valid     bool
	Reason    string // why it is not valid
}

//go:embed dkimverify.py
var dkimScript string

// DKIMVerify has dkimpy, an implementation that shares no code with ours, check
// every DKIM-Signature of a message (RFC 6376, RFC 8463), first header first.
// records are the TXT records of the DNS by lower-case name without the final
// dot, such as "selector._domainkey.example.org": no network is used.
func DKIMVerify(tb testing.TB, message []byte, records map[string]string) []DKIMSignature {
	tb.Helper()
	// The system's own Python has the package; another may come first in PATH.
	const python = "/usr/bin/python3"
	input, err := json.Marshal(struct {
		Message []byte            `json:"message"`
		Records map[string]string `json:"records"`
	}{message, records})
	if err != nil {
		tb.Fatalf("verify DKIM: %v", err)
	}
	cmd := exec.Command(python, "-c", dkimScript)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &stderr
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || strings.Contains(stderr.String(), "ModuleNotFoundError") {
		tb.Fatalf("dkimpy is not installed for %s: run `make deps`\n%s", python, stderr.String())
	}
	if err != nil {
		tb.Fatalf("verify DKIM: %v\n%s", err, stderr.String())
	}
	var found []DKIMSignature
	if err := json.Unmarshal(out, &found); err != nil {
		tb.Fatalf("verify DKIM: read its answer: %v", err)
	}
	return found
}
