package archtest_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// meaningless are names that say nothing of what a package is for.
var meaningless = []string{
	"util", "utils", "common", "types", "models", "model",
	"service", "services", "helpers", "helper",
}

func TestPackagesHaveNamesThatSaySomething(t *testing.T) {
	t.Parallel()
	report(t, nameFaults(checkout(t)))
}

func nameFaults(files []source) []string {
	var faults []string
	for _, file := range files {
		name := strings.TrimSuffix(file.syntax.Name.Name, "_test")
		for _, candidate := range []string{name, path.Base(file.dir())} {
			if slices.Contains(meaningless, candidate) {
				faults = append(faults, fmt.Sprintf("%s: a package named %s says nothing of what it is for", file.path, candidate))
			}
		}
	}
	return faults
}

func TestNameRules(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file, text string
		want       []string
	}{
		"a good name":        {"internal/mime/a.go", "package mime", nil},
		"a bad name":         {"internal/x/a.go", "package util", []string{"named util"}},
		"a bad directory":    {"internal/models/a.go", "package m", []string{"named models"}},
		"a bad test package": {"internal/x/a_test.go", "package helpers_test", []string{"named helpers"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, nameFaults(tree(t, map[string]string{test.file: test.text})), test.want)
		})
	}
}
