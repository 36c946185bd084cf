package dkim_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"github.com/emersion/go-msgauth/dkim"
)

// zone holds TXT records by name.
type zone map[string]string

func (z zone) lookup(name string) ([]string, error) {
	if txt, ok := z[name]; ok {
		return []string{txt}, nil
	}
	return nil, fmt.Errorf("no record %s", name)
}

// goVerdict verifies with go-msgauth: nil if all of want signatures are good.
func goVerdict(message []byte, z zone, want int) error {
	list, err := dkim.VerifyWithOptions(bytes.NewReader(message), &dkim.VerifyOptions{LookupTXT: z.lookup})
	if err != nil {
		return err
	}
	if len(list) != want {
		return fmt.Errorf("%d signatures, not %d", len(list), want)
	}
	var errs []error
	for _, v := range list {
		errs = append(errs, v.Err)
	}
	return errors.Join(errs...)
}

// A verifyCase is a message and the records its verifier finds.
type verifyCase struct {
	Message []byte `json:"message"`
	TXT     zone   `json:"txt"`
}

// pythonVerdicts verifies with dkimpy, all in one process because it starts
// slowly. A missing dkimpy fails the test: without it nothing independent has
// looked at our signatures.
func pythonVerdicts(t *testing.T, cases []verifyCase) [][]any {
	t.Helper()
	in, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(pythonWithDKIM(t), "testdata/verify.py")
	cmd.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("dkimpy: %v\n%s", err, stderr.Bytes())
	}
	var verdicts [][]any
	if err := json.Unmarshal(out, &verdicts); err != nil {
		t.Fatalf("dkimpy: %v in %s", err, out)
	}
	if len(verdicts) != len(cases) {
		t.Fatalf("dkimpy: %d verdicts for %d messages", len(verdicts), len(cases))
	}
	return verdicts
}

// pythonWithDKIM finds an interpreter that has dkimpy: the one in PATH need not
// be the one the distribution's packages are for.
func pythonWithDKIM(t *testing.T) string {
	t.Helper()
	var last error
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if out, err := exec.Command(name, "-c", "import dkim, nacl").CombinedOutput(); err != nil {
			last = fmt.Errorf("%w\n%s", err, out)
			continue
		}
		return name
	}
	t.Fatalf("no python3 with dkimpy and PyNaCl (Debian: python3-dkim python3-nacl): %v", last)
	return ""
}
