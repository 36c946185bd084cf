package redishot_test

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/memhot"
	"github.com/postledger/postledger/jobs/redishot"
)

// TestDriversAgree does the same random things to a set in memory and to one in
// Redis: each is the model of the other.
func TestDriversAgree(t *testing.T) {
	t.Parallel()
	url, prefix := testserver.Redis(t)
	client := connect(t, url)
	limits := jobs.Limits{Jobs: 12, GroupShare: 3}
	var sets atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		memory, err := memhot.New(limits)
		if err != nil {
			t.Fatal(err)
		}
		set, err := redishot.New(client, prefix+strconv.FormatInt(sets.Add(1), 10), limits)
		if err != nil {
			t.Fatal(err)
		}
		m := &machine{memory: memory, redis: set}
		t.Repeat(map[string]func(*rapid.T){
			"add": m.add, "take": m.take, "ack": m.ack, "return": m.giveBack, "extend": m.extend,
			"clear": m.clear, "settle": m.settle, "hold": m.hold, "raise": m.raise,
			"": m.compare,
		})
	})
}

// pair is one lease in both sets.
type pair struct{ memory, redis *jobs.Held }

type machine struct {
	memory, redis jobs.Hot
	ids           jobs.IDSource
	known         []jobs.Entry
	held          []pair
	spills        []jobs.SpillID
	payload       int
}

var (
	background = context.Background()
	groupNames = []string{"", "", "a", "b"}
	keyNames   = []string{"", "", "", "k", "l"}
)

func drawScope(t *rapid.T) jobs.Scope {
	return jobs.Scope{
		Lane:  rapid.SampledFrom(jobs.Lanes[:]).Draw(t, "lane"),
		Group: rapid.SampledFrom(groupNames).Draw(t, "group"),
	}
}

func (m *machine) entry(t *rapid.T) jobs.Entry {
	if len(m.known) > 0 && rapid.IntRange(0, 5).Draw(t, "again") == 0 {
		e := rapid.SampledFrom(m.known).Draw(t, "known")
		if rapid.Bool().Draw(t, "another revision") {
			e.Rev++
		}
		return e
	}
	scope := drawScope(t)
	m.payload++
	e := jobs.Entry{Job: jobs.Job{
		ID: m.ids.Next(time.Now()), Handler: "h", Lane: scope.Lane, Group: scope.Group,
		Payload:   []byte(strconv.Itoa(m.payload)),
		DedupeKey: rapid.SampledFrom(keyNames).Draw(t, "key"),
		Kind:      rapid.SampledFrom([]jobs.Kind{jobs.Adhoc, jobs.Adhoc, jobs.Adhoc, jobs.Cron}).Draw(t, "kind"),
		Bypass:    rapid.IntRange(0, 7).Draw(t, "bypass") == 0,
	}, Rev: 1, Durable: rapid.Bool().Draw(t, "durable")}
	if rapid.IntRange(0, 4).Draw(t, "later") == 0 {
		e.RunAt = time.Now().Add(40 * time.Second)
	}
	m.known = append(m.known, e)
	return e
}

func (m *machine) add(t *rapid.T) {
	add := jobs.Add{Drain: rapid.Bool().Draw(t, "drain")}
	for range rapid.IntRange(1, 6).Draw(t, "jobs") {
		add.Entries = append(add.Entries, m.entry(t))
	}
	if rapid.Bool().Draw(t, "spill") {
		add.Spill = jobs.SpillID{byte(len(m.spills) + 1)}
		m.spills = append(m.spills, add.Spill)
	}
	if rapid.IntRange(0, 9).Draw(t, "raise") == 0 {
		add.Raise = []jobs.Scope{drawScope(t)}
	}
	same(t, "add", func(h jobs.Hot) (any, error) {
		mine := add
		mine.Entries = slices.Clone(add.Entries)
		return h.Add(background, mine)
	}, m)
}

func (m *machine) take(t *rapid.T) {
	most := rapid.IntRange(1, 6).Draw(t, "max")
	take := jobs.Take{Max: most, MaxSlow: rapid.IntRange(0, most).Draw(t, "slow"), Lease: jobs.MaxLease}
	one, err := m.memory.Take(background, take)
	if err != nil {
		t.Fatal(err)
	}
	two, err := m.redis.Take(background, take)
	if err != nil {
		t.Fatal(err)
	}
	if len(one) != len(two) {
		t.Fatalf("memory gives %d jobs, Redis %d", len(one), len(two))
	}
	for i := range one {
		a, b := *one[i], *two[i]
		m.held = append(m.held, pair{one[i], two[i]})
		a.Token, b.Token = 0, 0
		a.RunAt, b.RunAt = time.Time{}, time.Time{}
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("memory gives %+v\nRedis %+v", a, b)
		}
	}
}

// some draws leases, ended ones among them.
func (m *machine) some(t *rapid.T) []pair {
	if len(m.held) == 0 {
		return nil
	}
	first := rapid.IntRange(0, len(m.held)-1).Draw(t, "first")
	return m.held[first:min(len(m.held), first+rapid.IntRange(1, 4).Draw(t, "leases"))]
}

func (m *machine) of(h jobs.Hot, some []pair) []*jobs.Held {
	var out []*jobs.Held
	for _, p := range some {
		if h == m.memory {
			out = append(out, p.memory)
		} else {
			out = append(out, p.redis)
		}
	}
	return out
}

func (m *machine) ack(t *rapid.T) {
	some := m.some(t)
	same(t, "ack", func(h jobs.Hot) (any, error) { return h.Ack(background, m.of(h, some)) }, m)
}

func (m *machine) giveBack(t *rapid.T) {
	some := m.some(t)
	delay := rapid.SampledFrom([]time.Duration{0, 50 * time.Second}).Draw(t, "delay")
	charge := rapid.Bool().Draw(t, "charge")
	same(t, "return", func(h jobs.Hot) (any, error) {
		var returns []jobs.Return
		for _, held := range m.of(h, some) {
			returns = append(returns, jobs.Return{Held: held, Delay: delay, Charge: charge})
		}
		return h.Return(background, returns)
	}, m)
}

func (m *machine) extend(t *rapid.T) {
	some := m.some(t)
	same(t, "extend", func(h jobs.Hot) (any, error) { return h.Extend(background, m.of(h, some), jobs.MaxLease) }, m)
}

func (m *machine) clear(t *rapid.T) {
	flag := jobs.Flag{
		Scope: drawScope(t), Number: rapid.Int64Range(1, 6).Draw(t, "number"), Spills: rapid.Int64Range(0, 3).Draw(t, "spills"),
	}
	// Mostly one that is up.
	if flags, err := m.memory.Flags(background); err == nil && len(flags) > 0 && rapid.IntRange(0, 3).Draw(t, "up") > 0 {
		sortFlags(flags)
		flag = rapid.SampledFrom(flags).Draw(t, "flag")
	}
	var keep []jobs.Scope
	if rapid.Bool().Draw(t, "keep") {
		keep = append(keep, drawScope(t))
	}
	same(t, "clear", func(h jobs.Hot) (any, error) { return h.Clear(background, flag, keep) }, m)
	same(t, "renew", func(h jobs.Hot) (any, error) { return nil, h.Renew(background, []jobs.Flag{flag}) }, m)
}

func (m *machine) settle(t *rapid.T) {
	spills := m.spills
	m.spills = nil
	same(t, "settle", func(h jobs.Hot) (any, error) { return nil, h.Settle(background, spills) }, m)
}

func (m *machine) hold(t *rapid.T) {
	group := rapid.SampledFrom(groupNames[2:]).Draw(t, "group")
	until := time.Now().Add(rapid.SampledFrom([]time.Duration{-time.Hour, time.Hour}).Draw(t, "until"))
	same(t, "hold", func(h jobs.Hot) (any, error) { return nil, h.Hold(background, group, until) }, m)
}

func (m *machine) raise(t *rapid.T) {
	scopes := []jobs.Scope{drawScope(t)}
	same(t, "raise", func(h jobs.Hot) (any, error) { return nil, h.Raise(background, scopes) }, m)
}

// compare looks at everything that both show, and at what must always hold.
func (m *machine) compare(t *rapid.T) {
	depth := same(t, "depth", func(h jobs.Hot) (any, error) { return h.Depth(background) }, m).(jobs.Depth)
	if depth.Jobs > 14 || depth.Jobs != depth.Active+depth.Delayed+depth.Fast.Waiting+depth.Slow.Waiting {
		t.Fatalf("the counts do not add up, or are above the bound: %+v", depth)
	}
	same(t, "flags", func(h jobs.Hot) (any, error) {
		flags, err := h.Flags(background)
		for i := range flags {
			flags[i].Since = time.Time{}
		}
		sortFlags(flags)
		return flags, err
	}, m)
	var ids []jobs.ID
	for _, e := range m.known {
		ids = append(ids, e.ID)
	}
	same(t, "contains", func(h jobs.Hot) (any, error) { return h.Contains(background, ids) }, m)
}

func sortFlags(flags []jobs.Flag) {
	slices.SortFunc(flags, func(a, b jobs.Flag) int { return cmp.Compare(a.Number, b.Number) })
}

// same does one thing to both and wants one answer.
func same(t *rapid.T, what string, do func(jobs.Hot) (any, error), m *machine) any {
	one, err := do(m.memory)
	if err != nil {
		t.Fatalf("%s in memory: %v", what, err)
	}
	two, err := do(m.redis)
	if err != nil {
		t.Fatalf("%s in Redis: %v", what, err)
	}
	if fmt.Sprintf("%v", one) != fmt.Sprintf("%v", two) {
		t.Fatalf("%s: memory answers %v\nRedis %v", what, one, two)
	}
	return one
}
