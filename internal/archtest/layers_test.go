package archtest_test

import (
	"slices"
	"strings"
)

// A layer is what a package may know. A package of ours that fits none is a
// fault: where it belongs has to be decided here.
type layer int

const (
	unknown    layer = iota
	root             // the vocabulary: standard library only
	standalone       // libraries for other projects too: nothing of ours
	client           // the public client: the root
	seam             // the root and the seam's own packages above and below
	step             // the root, seams, and the steps after it
	surface          // the root, seams and steps
	support          // test servers and conformance suites: for tests
	whole            // wiring, commands and benchmarks: everything
)

// seams and the other lists hold directories; what lies below one belongs to it.
var (
	standalones = []string{"lens", "jobs"}
	seams       = []string{
		"internal/ledger", "internal/transport", "internal/render", "internal/mime", "internal/blob",
		"internal/address", "internal/sanitize", "internal/secret",
		// The wire journal is below its step, but knows nothing of it.
		"internal/deliver/journal",
	}
	steps = []string{
		"internal/accept", "internal/mailing", "internal/deliver",
		"internal/settle", "internal/feedback", "internal/consent", "internal/audience", "internal/webhook",
	}
	surfaces = []string{"internal/api", "internal/web", "internal/smtpd"}
	wholes   = []string{"internal/app", "internal/bench", "cmd"}
	supports = []string{"internal/testserver", "internal/archtest"}
)

// forward are the only edges between steps.
var forward = map[string][]string{
	"internal/deliver":  {"internal/settle"},
	"internal/feedback": {"internal/settle"},
}

// layerOf gives the layer of a directory and the listed directory it is in.
func layerOf(dir string) (layer, string) {
	if dir == "" {
		return root, ""
	}
	// Conformance suites lie beside what they test: ledger/ledgertest. Those of a
	// library are a part of it: others use them too.
	if isSuite(dir) && !slices.ContainsFunc(standalones, func(home string) bool { return within(dir, home) }) {
		return support, dir
	}
	for _, known := range []struct {
		layer layer
		dirs  []string
	}{
		{seam, seams}, // before steps: the journal lies within one
		{standalone, standalones},
		{client, []string{"client"}},
		{step, steps},
		{surface, surfaces},
		{support, supports},
		{whole, wholes},
	} {
		for _, home := range known.dirs {
			if within(dir, home) {
				return known.layer, home
			}
		}
	}
	return unknown, dir
}

func isSuite(dir string) bool { return strings.HasSuffix(dir, "test") }

// within tells whether a directory is the other or lies below it.
func within(dir, other string) bool {
	return dir == other || strings.HasPrefix(dir, other+"/")
}

// mayImport tells whether a package in directory from may import the one in
// directory to. Both are of this module.
func mayImport(from, to string) bool {
	fromLayer, fromHome := layerOf(from)
	toLayer, toHome := layerOf(to)
	switch {
	case fromLayer == whole || fromLayer == support:
		return true
	case toLayer == support || toLayer == whole:
		return false
	case toLayer == root:
		return fromLayer != standalone
	}
	switch fromLayer {
	case standalone, client:
		// A client of several packages may know itself.
		return fromHome == toHome && !isSuite(to)
	case seam:
		// Beside each other, as transports are, they stay apart.
		return fromHome == toHome && (within(from, to) || within(to, from))
	case step:
		return toLayer == seam || toLayer == standalone || fromHome == toHome ||
			slices.Contains(forward[fromHome], toHome)
	case surface:
		return toLayer == seam || toLayer == standalone || toLayer == step || fromHome == toHome
	default:
		return false
	}
}
