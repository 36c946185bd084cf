package fair_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/deliver/fair"
)

func newTurns(t interface{ Fatal(...any) }, quantum int, keys ...string) *fair.Turns[string] {
	turns, err := fair.New[string](quantum)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		turns.Add(k)
	}
	return turns
}

func all(_ string, n int) int { return n }

func TestTurnsGoRound(t *testing.T) {
	type grants = []fair.Grant[string]
	turns := newTurns(t, 4, "a", "b", "c")
	for i, step := range []struct {
		total int
		want  grants
	}{
		{0, nil},
		{-1, nil},
		{6, grants{{"a", 4}, {"b", 2}}},
		{2, grants{{"b", 2}}}, // the turn that was cut short
		{3, grants{{"c", 3}}},
		{9, grants{{"c", 1}, {"a", 4}, {"b", 4}}},
		{24, grants{{"c", 8}, {"a", 8}, {"b", 8}}}, // one grant a key
	} {
		if got := turns.Next(step.total, all); !reflect.DeepEqual(got, step.want) {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
}

func TestAFewItemsBehindManyAreServedWithinARound(t *testing.T) {
	left := map[string]int{"many": 100_000}
	turns := newTurns(t, 16, "many")
	reserve := func(key string, n int) int {
		n = min(n, left[key])
		left[key] -= n
		return n
	}
	for range 10 {
		turns.Next(64, reserve)
	}
	left["few"] = 10
	turns.Add("few")
	turns.Next(32, reserve) // one quantum for each
	if left["few"] != 0 {
		t.Errorf("%d of 10 still wait after one round", left["few"])
	}
}

func TestKeysThatShareALimit(t *testing.T) {
	// Two apps on a profile whose pace allows 10, one app on a free profile.
	pace := 10
	reserve := func(key string, n int) int {
		if !strings.HasPrefix(key, "paced/") {
			return n
		}
		n = min(n, pace)
		pace -= n
		return n
	}
	turns := newTurns(t, 4, "paced/a", "paced/b", "free/c")
	got := make(map[string]int)
	for _, g := range turns.Next(40, reserve) {
		got[g.Key] = g.N
	}
	if want := (map[string]int{"paced/a": 6, "paced/b": 4, "free/c": 30}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestNothingIsSavedUp(t *testing.T) {
	turns := newTurns(t, 4, "a", "b")
	closed := func(key string, n int) int {
		if key == "a" {
			return 0
		}
		return n
	}
	for range 100 {
		turns.Next(8, closed)
	}
	got := make(map[string]int)
	for _, g := range turns.Next(80, all) {
		got[g.Key] = g.N
	}
	if got["a"] != 40 || got["b"] != 40 {
		t.Errorf("after a long stop: %v, want 40 each", got)
	}
}

func TestADebtIsPaidFromTurns(t *testing.T) {
	turns := newTurns(t, 4, "a", "b")
	turns.Next(1, all)
	turns.Charge("a", 49) // granted one, leased an envelope of fifty
	got := map[string]int{"a": 50}
	for _, g := range turns.Next(150, all) {
		got[g.Key] += g.N
	}
	if diff := got["a"] - got["b"]; diff < -4 || diff > 4 {
		t.Errorf("got %v, want them within a quantum", got)
	}

	// Alone, a key works its debt off within the call.
	alone := newTurns(t, 4, "a")
	alone.Charge("a", 1000)
	if got := alone.Next(3, all); len(got) != 1 || got[0].N != 3 {
		t.Errorf("alone: %v", got)
	}
}

func TestRemoveForgets(t *testing.T) {
	turns := newTurns(t, 4, "a", "b", "c")
	turns.Next(2, all) // in a's turn
	turns.Charge("a", 10)
	turns.Remove("a")
	turns.Remove("a")
	turns.Charge("a", 10)
	if turns.Len() != 2 {
		t.Errorf("%d keys, want 2", turns.Len())
	}
	turns.Add("a")
	turns.Add("b")
	if got := turns.Next(12, all); !reflect.DeepEqual(got, []fair.Grant[string]{{"b", 4}, {"c", 4}, {"a", 4}}) {
		t.Errorf("got %v", got)
	}
	for _, k := range []string{"a", "b", "c"} {
		turns.Remove(k)
	}
	if got := turns.Next(10, all); got != nil || turns.Len() != 0 {
		t.Errorf("empty: %v, %d keys", got, turns.Len())
	}
}

func TestAWrongReserveIsHeldToItsRange(t *testing.T) {
	turns := newTurns(t, 4, "a", "b")
	wild := func(key string, n int) int {
		if key == "a" {
			return n + 100
		}
		return -5
	}
	if got := turns.Next(6, wild); !reflect.DeepEqual(got, []fair.Grant[string]{{"a", 6}}) {
		t.Errorf("got %v", got)
	}
}

func TestQuantumIsChecked(t *testing.T) {
	if _, err := fair.New[string](0); err == nil || !strings.Contains(err.Error(), "quantum 0") {
		t.Errorf("error %v", err)
	}
}
