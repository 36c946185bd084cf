package archtest_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const module = "github.com/postledger/postledger"

// source is a Go file of this module.
type source struct {
	path      string // slash-separated, from the module's root
	lines     int
	generated bool
	syntax    *ast.File
}

func (s source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

// dir is the package's directory from the module's root, "" for the root.
func (s source) dir() string {
	if dir := path.Dir(s.path); dir != "." {
		return dir
	}
	return ""
}

// imports are the import paths of the file.
func (s source) imports(t *testing.T) []string {
	t.Helper()
	var paths []string
	for _, spec := range s.syntax.Imports {
		unquoted, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatalf("%s: import %s: %v", s.path, spec.Path.Value, err)
		}
		paths = append(paths, unquoted)
	}
	return paths
}

// checkout reads the tree that this test is part of.
func checkout(t *testing.T) []source {
	t.Helper()
	files := parse(t, os.DirFS("../.."))
	// A walk that finds nothing would let every rule pass.
	here := func(s source) bool { return s.path == "internal/archtest/tree_test.go" }
	if !slices.ContainsFunc(files, here) {
		t.Fatal("the walk over the tree does not find this file")
	}
	return files
}

// tree makes sources from texts by path.
func tree(t *testing.T, texts map[string]string) []source {
	t.Helper()
	files := fstest.MapFS{}
	for name, text := range texts {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return parse(t, files)
}

func parse(t *testing.T, files fs.FS) []source {
	t.Helper()
	var found []source
	positions := token.NewFileSet()
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && ignoredDir(entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(positions, name, data, parser.ParseComments)
		if err != nil {
			return err
		}
		found = append(found, source{
			path:      name,
			lines:     bytes.Count(data, []byte("\n")),
			generated: ast.IsGenerated(syntax),
			syntax:    syntax,
		})
		return nil
	})
	if err != nil {
		t.Fatalf("read the tree: %v", err)
	}
	return found
}

// ignoredDir names what the go command ignores too, and installed packages of
// other ecosystems.
func ignoredDir(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") ||
		name == "testdata" || name == "node_modules" || name == "vendor"
}

func report(t *testing.T, faults []string) {
	t.Helper()
	slices.Sort(faults)
	for _, fault := range slices.Compact(faults) {
		t.Error(fault)
	}
}

// expect compares faults with those wanted, each given by a part of its text.
func expect(t *testing.T, faults, want []string) {
	t.Helper()
	slices.Sort(faults)
	faults = slices.Compact(faults)
	if len(faults) != len(want) {
		t.Fatalf("faults %q, want %d like %q", faults, len(want), want)
	}
	for i, part := range want {
		if !strings.Contains(faults[i], part) {
			t.Errorf("fault %q does not say %q", faults[i], part)
		}
	}
}
