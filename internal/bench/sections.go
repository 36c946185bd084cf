package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// section is what can be measured alone.
type section struct {
	name string
	// before runs once, pair as often as pairs are asked for, judge at the end;
	// each may be nil.
	before func(*bench) error
	pair   func(b *bench, i int) error
	judge  func(*bench) error
	// large: measured only when it is named or everything is measured in full.
	large bool
}

func sections() []section {
	return []section{
		{name: "bulk", pair: (*bench).bulk, judge: (*bench).judgeBulk},
		{name: "shared", pair: (*bench).shared, judge: (*bench).judgeShared},
		{name: "accept", pair: (*bench).accept, judge: (*bench).judgeAccept},
		{name: "ledger", before: (*bench).prepareSpine, pair: (*bench).spine, judge: (*bench).judgeSpine},
		{name: "processes", before: (*bench).prepareProcesses, pair: (*bench).processes, judge: (*bench).judgeProcesses},
		{name: "latency", before: (*bench).latency},
		{name: "fair", before: (*bench).fair},
		{name: "wire", pair: (*bench).wire, judge: (*bench).judgeWire},
		{name: "sign", pair: (*bench).sign, judge: (*bench).judgeSign},
		{name: "lens", before: (*bench).prepareLens, pair: (*bench).lens, judge: (*bench).judgeLens},
		{name: "jobs", before: (*bench).prepareJobs, pair: (*bench).jobs, judge: (*bench).judgeJobs},
		{name: "webhooks", before: (*bench).prepareWebhooks, pair: (*bench).webhooks, judge: (*bench).judgeWebhooks},
		{name: "memory", before: (*bench).memory, large: true},
	}
}

func sectionNames() string {
	var names []string
	for _, s := range sections() {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ")
}

// chosen are the sections that o names, or those that are always measured.
func chosen(o options) ([]section, error) {
	all := sections()
	if o.only == "" {
		return slices.DeleteFunc(all, func(s section) bool { return s.large && !o.full }), nil
	}
	wanted := strings.Split(o.only, ",")
	for _, w := range wanted {
		if !slices.ContainsFunc(all, func(s section) bool { return s.name == w }) {
			return nil, fmt.Errorf("-only: there is no %q; there are %s", w, sectionNames())
		}
	}
	return slices.DeleteFunc(all, func(s section) bool { return !slices.Contains(wanted, s.name) }), nil
}

// bench is one run of the program.
type bench struct {
	s       *servers
	o       options
	figures *figures
	// pg and lite are the worlds of the two ledgers that bulk and accept use.
	pg, lite world
	// own are the databases that other sections have for themselves.
	own map[string]place
	// redis is the server of the part "jobs", and rivals the program beside it.
	redis  string
	rivals rivals
	hooks  hooks
	// values are the pairs' values of what is no run's rate or cost, by figure.
	values map[string][]float64
}

// place is a database and the world in it.
type place struct {
	url   string
	world world
}

func measure(s *servers, o options) (*figures, error) {
	b := &bench{s: s, o: o, figures: newFigures(o.pairs), own: map[string]place{}, values: map[string][]float64{}}
	list, err := chosen(o)
	if err != nil {
		return nil, err
	}
	p, err := run("prepare", job{URL: s.postgres, Sink: s.sink.addr, N: o.accepts})
	if err != nil {
		return nil, err
	}
	b.pg = p.World
	if p, err = run("prepare", job{URL: b.sqlite(), Sink: s.sink.addr, N: o.accepts}); err != nil {
		return nil, err
	}
	b.lite = p.World
	if _, err := run("floor-prepare", job{URL: s.postgres}); err != nil {
		return nil, err
	}
	for _, s := range list {
		if err := b.section(s); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return b.figures, nil
}

func (b *bench) section(s section) error {
	if s.before != nil {
		if err := s.before(b); err != nil {
			return err
		}
	}
	if s.pair != nil {
		for i := range b.o.pairs {
			if err := s.pair(b, i); err != nil {
				return err
			}
		}
	}
	if s.judge != nil {
		return s.judge(b)
	}
	return nil
}

func (b *bench) sqlite() string { return "sqlite://" + filepath.Join(b.s.dir, "ledger.db") }

// database makes a database with a world of its own on PostgreSQL.
func (b *bench) database(name string) (place, error) {
	if p, ok := b.own[name]; ok {
		return p, nil
	}
	url, err := b.s.create(name, "template0")
	if err != nil {
		return place{}, err
	}
	p, err := run("prepare", job{URL: url, Sink: b.s.sink.addr, N: b.o.accepts})
	b.own[name] = place{url, p.World}
	return b.own[name], err
}

// step is one measured part of a pair.
type step struct {
	name, part string
	load       string // the part that fills its tables first, not measured
	job        job
}

// pair runs steps one after the other, in turn from either end: what drifts
// then favours none.
func (b *bench) pair(i int, steps ...step) error {
	for k := range steps {
		s := steps[k]
		if i%2 == 1 {
			s = steps[len(steps)-1-k]
		}
		s.job.Run = i
		if s.load != "" {
			r, err := run(s.load, s.job)
			if err != nil {
				return err
			}
			if s.load == "load" {
				b.figures.add(s.name+", accepted in batches", s.job.N, r)
			}
		}
		if b.o.profiles != "" && i == b.o.pairs-1 {
			s.job.Profile = b.profile(s.part, s.job.URL)
		}
		r, err := run(s.part, s.job)
		if err != nil {
			return err
		}
		b.figures.add(s.name, s.job.N, r)
	}
	return nil
}

func (b *bench) profile(part, url string) string {
	return filepath.Join(b.o.profiles, part+"-"+map[bool]string{true: "postgres", false: "sqlite"}[isPostgres(url)]+".pprof")
}
