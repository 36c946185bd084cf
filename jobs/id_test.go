package jobs_test

import (
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

func TestIDsNeverDecrease(t *testing.T) {
	t.Parallel()
	var source jobs.IDSource
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	last := source.Next(now)
	for i := range 5000 {
		// The clock steps back an hour in the middle.
		if i == 2000 {
			now = now.Add(-time.Hour)
		}
		next := source.Next(now)
		if next.String() <= last.String() {
			t.Fatalf("id %d is %v after %v", i, next, last)
		}
		if next[6]>>4 != 7 || next[8]>>6 != 2 {
			t.Fatalf("%v is not a UUIDv7", next)
		}
		last = next
	}
}

// The example is RFC 9562's, appendix A.4.
func TestDeriveID(t *testing.T) {
	t.Parallel()
	dns, err := jobs.ParseID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
	if err != nil {
		t.Fatal(err)
	}
	if got := jobs.DeriveID(dns, "www.example.com").String(); got != "2ed6657d-e927-568b-95e1-2665a8aea6a2" {
		t.Fatalf("derived %s", got)
	}
}

func TestIDText(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"2ed6657d-e927-568b-95e1-2665a8aea6a2": true,
		"2ED6657D-E927-568B-95E1-2665A8AEA6A2": true,
		"2ed6657de927568b95e12665a8aea6a2":     false,
		"2ed6657d-e927-568b-95e1-2665a8aea6ag": false,
		"":                                     false,
	} {
		id, err := jobs.ParseID(text)
		if (err == nil) != good {
			t.Errorf("parse %q: %v", text, err)
		}
		if good && id.String() != "2ed6657d-e927-568b-95e1-2665a8aea6a2" {
			t.Errorf("parse %q gives %v", text, id)
		}
	}
	var fromBytes, fromText jobs.ID
	id, _ := jobs.ParseID("2ed6657d-e927-568b-95e1-2665a8aea6a2")
	value, _ := id.Value()
	if err := fromBytes.Scan(value); err != nil || fromBytes != id {
		t.Errorf("scan bytes: %v, %v", fromBytes, err)
	}
	if err := fromText.Scan(id.String()); err != nil || fromText != id {
		t.Errorf("scan text: %v, %v", fromText, err)
	}
	if err := fromText.Scan(int64(1)); err == nil {
		t.Error("scanned a number")
	}
}
