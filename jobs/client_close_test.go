package jobs_test

import (
	"context"
	"testing"

	"github.com/postledger/postledger/jobs"
)

// Closing a client writes what its spiller has accumulated, and says what it
// could not write.
func TestCloseEndsTheSpiller(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"it writes": false, "it cannot write": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outbox, _ := box(t)
			gated := &gatedOutbox{Outbox: outbox, reached: make(chan struct{}, 9), gate: make(chan struct{})}
			client, err := jobs.NewClient(memory(t, jobs.Limits{}), jobs.NewSpiller(gated, jobs.SpillConfig{}), jobs.ClientOptions{})
			if err != nil {
				t.Fatal(err)
			}
			enqueued := make(chan error, 1)
			go func() {
				_, err := client.Enqueue(context.Background(), jobs.Job{Handler: "h"})
				enqueued <- err
			}()
			<-gated.reached
			ctx, giveUp := context.WithCancel(context.Background())
			defer giveUp()
			closed := make(chan error, 1)
			go func() { closed <- client.Close(ctx) }()
			if fails {
				giveUp()
			} else {
				close(gated.gate)
			}
			if err := <-enqueued; (err != nil) != fails {
				t.Errorf("enqueue: %v", err)
			}
			if err := <-closed; (err != nil) != fails {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// gatedOutbox inserts nothing before its gate opens.
type gatedOutbox struct {
	jobs.Outbox
	reached, gate chan struct{}
}

func (g *gatedOutbox) Insert(ctx context.Context, rows []jobs.Insertion) ([]jobs.Inserted, error) {
	g.reached <- struct{}{}
	select {
	case <-g.gate:
		return g.Outbox.Insert(ctx, rows)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
