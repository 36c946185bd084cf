package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
)

// figure is one line of the file: a bar says what it must be, and ok whether
// it is; a figure without a bar is only told.
type figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Bar   string  `json:"bar,omitempty"`
	OK    *bool   `json:"ok,omitempty"`
	// Pairs are the values it is the median of.
	Pairs []float64 `json:"pairs,omitempty"`
}

// measured is one run of a part.
type measured struct {
	n int
	result
}

func rateOf(m measured) float64 { return float64(m.n) / m.Seconds }
func cpuOf(m measured) float64  { return (m.Self + m.Server) / float64(m.n) }

// figures collects runs and what follows from them.
type figures struct {
	pairs int
	names []string
	runs  map[string][]measured
	bars  []figure
	told  []figure
	// notes are what was not measured, and why.
	notes []string
}

func newFigures(pairs int) *figures { return &figures{pairs: pairs, runs: map[string][]measured{}} }

func (f *figures) add(name string, n int, r result) {
	if f.runs[name] == nil {
		f.names = append(f.names, name)
	}
	f.runs[name] = append(f.runs[name], measured{n, r})
}

func (f *figures) atMost(name, a, b string, of func(measured) float64, bar float64) {
	f.ratio(name, a, b, of, fmt.Sprintf("≤ %.2f", bar), func(v float64) bool { return v <= bar })
}

func (f *figures) atLeast(name, a, b string, of func(measured) float64, bar float64) {
	f.ratio(name, a, b, of, fmt.Sprintf("≥ %.2f", bar), func(v float64) bool { return v >= bar })
}

func (f *figures) ratio(name, a, b string, of func(measured) float64, bar string, met func(float64) bool) {
	var ratios []float64
	for i := range f.runs[a] {
		ratios = append(ratios, of(f.runs[a][i])/of(f.runs[b][i]))
	}
	f.bar(name, "×", ratios, bar, met)
}

func (f *figures) peak(name, part string, mebibytes float64) {
	var peaks []float64
	for _, m := range f.runs[part] {
		peaks = append(peaks, float64(m.Peak)/1024)
	}
	f.bar(name, "MiB", peaks, fmt.Sprintf("≤ %.0f", mebibytes), func(v float64) bool { return v <= mebibytes })
}

// bar fails when the median and five of seven values miss it.
func (f *figures) bar(name, unit string, values []float64, bar string, met func(float64) bool) {
	missed := 0
	for _, v := range values {
		if !met(v) {
			missed++
		}
	}
	ok := met(middle(values)) || 7*missed < 5*len(values)
	f.bars = append(f.bars, figure{Name: name, Value: middle(values), Unit: unit, Bar: bar, OK: &ok, Pairs: values})
}

// either is met by a share of another's rate, or by a rate.
func (f *figures) either(name, a, b string, share, rate float64) {
	var ratios []float64
	for i := range f.runs[a] {
		ratios = append(ratios, rateOf(f.runs[a][i])/rateOf(f.runs[b][i]))
	}
	met := func(v float64) bool { return v >= share }
	var rates []float64
	for _, m := range f.runs[a] {
		rates = append(rates, rateOf(m))
	}
	if middle(rates) >= rate {
		met = func(float64) bool { return true }
	}
	f.bar(name, "×", ratios, fmt.Sprintf("≥ %.2f, or ≥ %.0f /s", share, rate), met)
}

// note says what was not measured.
func (f *figures) note(text string) { f.notes = append(f.notes, text) }

// tell adds a figure without a bar.
func (f *figures) tell(name string, value float64, unit string) {
	f.told = append(f.told, figure{Name: name, Value: value, Unit: unit})
}

func (f *figures) ok() bool {
	return !slices.ContainsFunc(f.bars, func(b figure) bool { return !*b.OK })
}

// middle is the median.
func middle(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if len(v) == 0 {
		return 0
	}
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func (f *figures) list() []figure {
	out := slices.Concat(f.bars, f.told)
	for _, name := range f.names {
		for _, k := range []struct {
			what, unit string
			of         func(measured) float64
		}{
			{"rate", "/s", rateOf},
			{"CPU of the process", "µs each", func(m measured) float64 { return m.Self / float64(m.n) }},
			{"CPU of the server", "µs each", func(m measured) float64 { return m.Server / float64(m.n) }},
			{"memory", "MiB", func(m measured) float64 { return float64(m.Peak) / 1024 }},
		} {
			var values []float64
			for _, m := range f.runs[name] {
				values = append(values, k.of(m))
			}
			out = append(out, figure{Name: name + ": " + k.what, Value: middle(values), Unit: k.unit, Pairs: values})
		}
	}
	return out
}

func (f *figures) write(path string) error {
	b, err := json.MarshalIndent(f.list(), "", "  ")
	if err != nil {
		return fmt.Errorf("encode figures: %w", err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write figures: %w", err)
	}
	return nil
}

// print writes the bars, then the runs with their spread: how noisy it was.
func (f *figures) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 2, 2, 2, ' ', 0)
	defer func() {
		t.Flush()
		for _, note := range f.notes {
			fmt.Fprintln(w, "\n"+note)
		}
	}()
	fmt.Fprintln(t, "bar\tmedian\tof\tlowest – highest\t")
	for _, b := range f.bars {
		verdict := "ok"
		if !*b.OK {
			verdict = "MISSED"
		}
		fmt.Fprintf(t, "%s\t%.2f %s\t%s\t%.2f – %.2f\t%s\n", b.Name, b.Value, b.Unit, b.Bar, slices.Min(b.Pairs), slices.Max(b.Pairs), verdict)
	}
	if len(f.told) > 0 {
		fmt.Fprintln(t, "\t\t\t\t\ntold\tvalue\t\t\t")
	}
	for _, g := range f.told {
		fmt.Fprintf(t, "%s\t%.1f %s\t\t\t\n", g.Name, g.Value, g.Unit)
	}
	if len(f.names) == 0 {
		return
	}
	fmt.Fprintln(t, "\t\t\t\t\nmeasured\trate /s\tlowest – highest\tCPU µs: process + server\tMiB\trows a lease, a settle")
	for _, name := range f.names {
		var rates, self, server, peaks, lease, settle []float64
		for _, m := range f.runs[name] {
			rates, self = append(rates, rateOf(m)), append(self, m.Self/float64(m.n))
			server, peaks = append(server, m.Server/float64(m.n)), append(peaks, float64(m.Peak)/1024)
			lease, settle = append(lease, m.Lease), append(settle, m.Settle)
		}
		fmt.Fprintf(t, "%s\t%.0f\t%.0f – %.0f\t%.0f + %.0f\t%.0f\t", name, middle(rates), slices.Min(rates), slices.Max(rates), middle(self), middle(server), middle(peaks))
		if middle(lease) > 0 {
			fmt.Fprintf(t, "%.0f, %.0f", middle(lease), middle(settle))
		}
		fmt.Fprintln(t)
	}
}
