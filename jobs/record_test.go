package jobs_test

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

func entries() []jobs.Entry {
	id, _ := jobs.ParseID("2ed6657d-e927-568b-95e1-2665a8aea6a2")
	return []jobs.Entry{
		{Job: jobs.Job{ID: id, Handler: "h", Lane: jobs.Fast, Payload: []byte{}}, Rev: 1},
		{
			Job: jobs.Job{
				ID: id, Handler: "mail.send", Payload: []byte("{\"a\":1}\x00\xff"), Kind: jobs.Trigger, Lane: jobs.Slow,
				DedupeKey: "ключ", Group: "g", RunAt: moment.Add(time.Hour), MaxAttempts: 7, Timeout: 90 * time.Second, Bypass: true,
			},
			Rev: 9, Durable: true, Attempts: 3, EnqueuedAt: moment,
		},
	}
}

func TestRecordsKeepEverything(t *testing.T) {
	t.Parallel()
	for _, want := range entries() {
		got, err := jobs.DecodeEntry(jobs.EncodeEntry(nil, &want))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	}
}

// A record may be of another version, of another program, or cut: whatever it
// is, reading it neither panics nor makes a job of it that breaks a rule.
func FuzzDecodeEntry(f *testing.F) {
	for _, e := range entries() {
		record := jobs.EncodeEntry(nil, &e)
		f.Add(record)
		f.Add(record[:len(record)/2])
		f.Add(append([]byte{2}, record[1:]...))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, record []byte) {
		e, err := jobs.DecodeEntry(record)
		if err != nil {
			return
		}
		if err := e.Validate(); err != nil {
			t.Fatalf("read a bad job: %v", err)
		}
		again := jobs.EncodeEntry(nil, &e)
		// The flags that nobody uses are not kept.
		again[1] = record[1]
		if !bytes.Equal(again, record) {
			t.Fatalf("read %x, wrote %x", record, again)
		}
	})
}
