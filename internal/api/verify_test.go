package api_test

import (
	"bytes"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/api"
)

var update = flag.Bool("update", false, "write the generated documents anew")

const docs = "../../docs"

// verify compares a generated document with the committed one.
func verify(t *testing.T, name string, want []byte) {
	t.Helper()
	path := filepath.Join(docs, name)
	if *update {
		must(t, os.MkdirAll(docs, 0o755))
		must(t, os.WriteFile(path, want, 0o644))
		return
	}
	got, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("docs/%s is not what the code makes: run go test ./internal/api -run %s -update", name, t.Name())
	}
}

func TestVerifyErrorsDoc(t *testing.T) { verify(t, "errors.md", api.ErrorsDoc()) }

func TestVerifyOpenAPI(t *testing.T) {
	got, err := api.OpenAPI()
	must(t, err)
	again, err := api.OpenAPI()
	must(t, err)
	if !bytes.Equal(got, again) {
		t.Error("the document is another each time")
	}
	verify(t, "openapi.json", got)
}

// The table has every code once, and every code of the steps.
func TestErrorTable(t *testing.T) {
	seen := map[string]bool{}
	last := 0
	for _, e := range api.Errors() {
		code := string(e.Code)
		if seen[code] || !regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`).MatchString(code) {
			t.Errorf("%s: twice, or not a code", code)
		}
		seen[code] = true
		if e.Title == "" || e.When == "" || http.StatusText(e.Status) == "" || e.Status < last {
			t.Errorf("%s: incomplete, or out of order: %+v", code, e)
		}
		last = e.Status
	}
	for _, c := range accept.Codes() {
		if !seen[string(c)] {
			t.Errorf("%s is not in the table", c)
		}
	}
}

// Every code of the table is one that some code path can answer.
func TestErrorCodesAreUsed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	must(t, err)
	var text strings.Builder
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") || f == "errors.go" {
			continue
		}
		b, err := os.ReadFile(f)
		must(t, err)
		text.Write(b)
	}
	source, err := os.ReadFile("errors.go")
	must(t, err)
	names := regexp.MustCompile(`(?m)^\t(code\w+)\s+(?:Code )?= `).FindAllSubmatch(source, -1)
	if len(names) < 20 {
		t.Fatalf("found %d codes", len(names))
	}
	var unused []string
	for _, n := range names {
		if name := string(n[1]); !regexp.MustCompile(`\b` + name + `\b`).MatchString(text.String()) {
			unused = append(unused, name)
		}
	}
	if len(unused) > 0 && !slices.Equal(unused, nil) {
		t.Errorf("never answered: %q", unused)
	}
}
