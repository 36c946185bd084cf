package archtest_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestImportsGoDownwards(t *testing.T) {
	t.Parallel()
	report(t, importFaults(t, checkout(t)))
}

// importFaults checks what is not a test: tests may import everything.
func importFaults(t *testing.T, files []source) []string {
	t.Helper()
	var faults []string
	for _, file := range files {
		if file.test() {
			continue
		}
		from := file.dir()
		if in, _ := layerOf(from); in == unknown {
			faults = append(faults, fmt.Sprintf("%s is in no layer: decide in internal/archtest/layers_test.go", from))
			continue
		}
		for _, imported := range file.imports(t) {
			// The slash keeps a module whose name begins like ours out.
			to, ours := strings.CutPrefix(imported+"/", module+"/")
			to = strings.TrimSuffix(to, "/")
			switch {
			case ours && !mayImport(from, to):
				faults = append(faults, fmt.Sprintf("%s imports %s", file.path, imported))
			case !ours && from == "" && !standard(imported):
				faults = append(faults, fmt.Sprintf("%s imports %s: the root has the standard library only", file.path, imported))
			}
		}
	}
	return faults
}

// standard tells a package of the standard library: only others have a domain.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

func TestImportRules(t *testing.T) {
	t.Parallel()
	file := func(imports ...string) string {
		text := "package p\n"
		for _, path := range imports {
			text += fmt.Sprintf("import _ %q\n", path)
		}
		return text
	}
	tests := map[string]struct {
		file    string
		imports []string
		want    []string
	}{
		"root, standard library":          {"app.go", []string{"fmt", "net/http"}, nil},
		"root, another module":            {"app.go", []string{"github.com/google/uuid"}, []string{"standard library only"}},
		"root, ours":                      {"app.go", []string{module + "/internal/mime"}, []string{"app.go imports"}},
		"root's tests":                    {"app_test.go", []string{module + "/internal/app", "pgregory.net/rapid"}, nil},
		"seam to root":                    {"internal/mime/a.go", []string{module, "golang.org/x/net/html"}, nil},
		"seam to seam":                    {"internal/ledger/a.go", []string{module + "/internal/address"}, []string{"internal/ledger/a.go imports"}},
		"seam to a step":                  {"internal/ledger/a.go", []string{module + "/internal/settle"}, []string{"imports"}},
		"leaf to its seam":                {"internal/transport/smtp/a.go", []string{module + "/internal/transport"}, nil},
		"leaf to another leaf":            {"internal/transport/smtp/a.go", []string{module + "/internal/transport/sandbox"}, []string{"imports"}},
		"leaf to another seam":            {"internal/transport/smtp/a.go", []string{module + "/internal/mime"}, []string{"imports"}},
		"journal to root":                 {"internal/deliver/journal/a.go", []string{module}, nil},
		"journal to its step":             {"internal/deliver/journal/a.go", []string{module + "/internal/deliver"}, []string{"imports"}},
		"step to seams":                   {"internal/deliver/a.go", []string{module, module + "/internal/ledger", module + "/internal/deliver/journal", module + "/jobs"}, nil},
		"step to the next":                {"internal/deliver/a.go", []string{module + "/internal/settle"}, nil},
		"step backwards":                  {"internal/settle/a.go", []string{module + "/internal/deliver"}, []string{"imports"}},
		"step aside":                      {"internal/mailing/a.go", []string{module + "/internal/accept"}, []string{"imports"}},
		"step to a surface":               {"internal/accept/a.go", []string{module + "/internal/api"}, []string{"imports"}},
		"step to a test server":           {"internal/accept/a.go", []string{module + "/internal/testserver"}, []string{"imports"}},
		"surface to steps and seams":      {"internal/api/a.go", []string{module, module + "/internal/accept", module + "/internal/secret", module + "/lens"}, nil},
		"surface to another surface":      {"internal/api/a.go", []string{module + "/internal/web"}, []string{"imports"}},
		"surface to the wiring":           {"internal/web/a.go", []string{module + "/internal/app"}, []string{"imports"}},
		"library to another module":       {"lens/a.go", []string{"github.com/jackc/pgx/v5"}, nil},
		"library to root":                 {"jobs/a.go", []string{module}, []string{"imports"}},
		"library to itself":               {"jobs/redis/a.go", []string{module + "/jobs"}, nil},
		"library to its suite":            {"jobs/redis/a.go", []string{module + "/jobs/hottest"}, []string{"imports"}},
		"library's suite to the library":  {"jobs/hottest/a.go", []string{module + "/jobs", "testing"}, nil},
		"library's suite to test servers": {"jobs/hottest/a.go", []string{module + "/internal/testserver"}, []string{"imports"}},
		"client to root":                  {"client/a.go", []string{module}, nil},
		"client to the inside":            {"client/a.go", []string{module + "/internal/api"}, []string{"imports"}},
		"wiring to everything":            {"internal/app/a.go", []string{module + "/internal/api", module + "/internal/transport/smtp", module + "/jobs"}, nil},
		"command to wiring":               {"cmd/postledger/a.go", []string{module + "/internal/app"}, nil},
		"bench to test servers":           {"internal/bench/a.go", []string{module + "/internal/testserver"}, nil},
		"conformance suite":               {"internal/ledger/ledgertest/a.go", []string{module + "/internal/ledger", module + "/internal/testserver"}, nil},
		"seam to its conformance suite":   {"internal/ledger/a.go", []string{module + "/internal/ledger/ledgertest"}, []string{"imports"}},
		"a package that nobody announced": {"internal/misc/a.go", nil, []string{"internal/misc is in no layer"}},
		"another module with our prefix":  {"app.go", []string{module + "tools/x"}, []string{"standard library only"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, importFaults(t, tree(t, map[string]string{test.file: file(test.imports...)})), test.want)
		})
	}
}
