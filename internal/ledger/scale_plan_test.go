package ledger_test

import (
	"strings"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
)

// planned is a ledger whose statements are explained. Its bulk lane holds
// envelopes of one, its immediate lane envelopes of ten.
type planned struct {
	*ledgertest.World
	trace   *ledger.Trace
	explain func(s ledger.Statement) [][]access // of each way the database may plan it
	// shared is where the envelopes of several begin; the rows below it are
	// alone, and those from end on have been used up.
	shared, end int
}

// access is one way a statement reaches the rows of a hot table.
type access struct {
	index string // "" for a sequential scan
	table string
	cond  string // what the index is asked for
}

func (a access) String() string {
	if a.index == "" {
		return "every row of " + a.table
	}
	return a.index
}

// hot are the tables of which no statement of a step may read every row.
var hot = []string{"deliveries", "messages", "contents", "shared_bodies", "idempotency_keys"}

// operation is a step's call of the ledger, and what it may reach rows by.
type operation struct {
	name string
	// prepare returns the call whose statements are explained.
	prepare func(p *planned) func()
	// indexes are all of them that the step's statements use, no more and no less.
	indexes []string
	// cond is a part of what an index must be asked for, in PostgreSQL's and
	// in SQLite's words: with less it would walk over rows it does not want.
	postgres, sqlite string
	// postgresOnly: SQLite's plan does not depend on what it knows of the tables.
	postgresOnly bool
}

const batch = 64 // a lease's or settle's usual size

var operations = []operation{
	{
		name: "claim envelopes of one", indexes: []string{"deliveries_due", "deliveries_pkey"},
		prepare:  func(p *planned) func() { return func() { p.lease(postledger.LaneBulk) } },
		postgres: "(ROW(due_at, id) > ROW(w.after_due, w.after_id))",
		sqlite:   "(profile_id=? AND lane=? AND app_id=? AND (due_at,id)>(?,?)",
	},
	{
		name: "claim envelopes of several", indexes: []string{"deliveries_due", "deliveries_message", "deliveries_pkey"},
		prepare:  func(p *planned) func() { return func() { p.lease(postledger.LaneImmediate) } },
		postgres: "(ROW(due_at, id) > ROW(w.after_due, w.after_id))",
		sqlite:   "(profile_id=? AND lane=? AND app_id=? AND (due_at,id)>(?,?)",
	},
	{
		name: "settle", indexes: []string{"deliveries_pkey"},
		prepare: func(p *planned) func() {
			ls := p.lease(postledger.LaneBulk)
			return func() { p.settle(ls, postledger.MoverWorker, postledger.ID{}) }
		},
	},
	{
		name: "settle for a lost owner", indexes: []string{"deliveries_pkey"},
		prepare: func(p *planned) func() {
			ls := p.lease(postledger.LaneBulk)
			return func() { p.settle(ls, postledger.MoverRecovery, p.Worker.ID) }
		},
	},
	{
		name: "cancel what is queued", indexes: []string{"deliveries_pkey"},
		prepare: func(p *planned) func() {
			ids := p.fromTheEnd()
			return func() { p.cancel(ids) }
		},
	},
	{
		name: "cancel what is sending", indexes: []string{"deliveries_pkey"},
		prepare: func(p *planned) func() {
			var ids []postledger.ID
			for _, l := range p.lease(postledger.LaneBulk) {
				ids = append(ids, l.ID)
			}
			return func() { p.cancel(ids) }
		},
	},
	{
		name: "list a worker's leases", indexes: []string{"deliveries_lease"},
		prepare: func(p *planned) func() {
			p.lease(postledger.LaneBulk)
			return func() {
				ls, err := p.Leases(p.T.Context(), p.Worker.ID, postledger.ID{}, 1000)
				p.must(err)
				if len(ls) < batch {
					p.T.Errorf("the worker holds %d", len(ls))
				}
			}
		},
	},
	{
		name: "scan waiting keys", indexes: []string{"deliveries_due"},
		prepare: func(p *planned) func() {
			return func() {
				keys, err := p.Waiting(p.T.Context())
				p.must(err)
				if len(keys) != 2 {
					p.T.Errorf("%d keys wait, want 2", len(keys))
				}
			}
		},
		postgres: "(ROW(profile_id, lane, app_id) < ROW(",
		sqlite:   "((profile_id,lane,app_id)<(?,?,?))",
	},
	{
		name: "scan waiting keys beyond what was passed", indexes: []string{"deliveries_due"},
		prepare: func(p *planned) func() {
			return func() {
				w, err := p.WaitingBeyond(p.T.Context(), []ledger.Passed{
					{Key: p.Key(postledger.LaneImmediate), After: ledger.Cursor{Due: 1}}, {Key: p.Key(postledger.LaneBulk), After: ledger.Cursor{Due: 1}},
				})
				p.must(err)
				if len(w.Keys) != 2 {
					p.T.Errorf("%d keys wait, want 2", len(w.Keys))
				}
			}
		},
		postgres: "(ROW(due_at, id) > ROW(",
		sqlite:   "((profile_id,lane,app_id)<(?,?,?))",
	},
	{
		name: "look for passed deadlines", indexes: []string{"deliveries_deadline"},
		prepare:  reads(func(p *planned) error { _, err := p.PastDeadline(p.T.Context(), 1000); return err }),
		postgres: "expires_at <=", sqlite: "expires_at<?",
	},
	{
		name: "list what waits under a profile", indexes: []string{"deliveries_due"},
		prepare: reads(func(p *planned) error {
			_, err := p.WaitingUnder(p.T.Context(), p.Profile.ID, postledger.ID{}, 1000)
			return err
		}),
		postgres: "profile_id =", sqlite: "(profile_id=?",
	},
	{
		name: "list what waits under an app on a profile", indexes: []string{"deliveries_due"},
		prepare: reads(func(p *planned) error {
			_, err := p.WaitingUnder(p.T.Context(), p.Profile.ID, p.App.ID, 1000)
			return err
		}),
		postgres: "app_id =", sqlite: "(profile_id=? AND lane=? AND app_id=?",
	},
	{
		name: "count what waits under a profile", indexes: []string{"deliveries_due"},
		prepare: reads(func(p *planned) error {
			_, err := p.CountWaiting(p.T.Context(), p.Profile.ID, 10_000)
			return err
		}),
		postgres: "profile_id =", sqlite: "(profile_id=?",
	},
	{
		name: "count what waits", indexes: []string{"deliveries_due"},
		prepare: reads(func(p *planned) error {
			_, err := p.CountWaiting(p.T.Context(), postledger.ID{}, 10_000)
			return err
		}),
	},
	{
		name: "read backlogs", indexes: []string{"deliveries_due"},
		prepare: reads(func(p *planned) error {
			b, err := p.Backlogs(p.T.Context())
			if len(b) != 1 {
				p.T.Errorf("%d profiles have something waiting, want 1", len(b))
			}
			return err
		}),
		postgres: "(ROW(due_at, id) > ROW(", sqlite: "(profile_id=? AND lane=? AND app_id=? AND (due_at,id)>(?,?)",
	},
	{
		name: "list messages in a frequent state", indexes: []string{"deliveries_message", "messages_app"},
		prepare: reads(func(p *planned) error {
			f := ledger.Filter{App: p.App.ID, Statuses: []postledger.Status{postledger.StatusQueued}}
			_, err := p.Messages(p.T.Context(), f, ledger.Paging{Limit: 50})
			return err
		}),
		postgres: "(message_id = ", postgresOnly: true,
	},
	{
		name: "list anyone's messages in a frequent state", indexes: []string{"deliveries_message", "messages_pkey"},
		prepare: reads(func(p *planned) error {
			f := ledger.Filter{Statuses: []postledger.Status{postledger.StatusQueued}}
			_, err := p.Messages(p.T.Context(), f, ledger.Paging{Limit: 50})
			return err
		}),
		postgres: "(message_id = ", postgresOnly: true,
	},
	{
		name: "list what may be sent again", indexes: []string{"deliveries_unconfirmed"},
		prepare: reads(func(p *planned) error {
			_, err := p.ResendDue(p.T.Context(), p.Profile.ID, ledger.Mark{}, 1000)
			return err
		}),
	},
	{
		name: "load messages", indexes: []string{"contents_pkey", "deliveries_message", "messages_pkey"},
		prepare: reads(func(p *planned) error {
			var ids []postledger.ID
			for i := range batch {
				ids = append(ids, ledgertest.MessageID(p.shared+10*i))
			}
			ms, err := p.LoadMessages(p.T.Context(), ids, 1<<20)
			if len(ms) != batch {
				p.T.Errorf("loaded %d messages of %d", len(ms), batch)
			}
			return err
		}),
	},
	{
		name: "load messages to send", indexes: []string{"contents_pkey", "deliveries_message", "messages_pkey"},
		prepare: reads(func(p *planned) error {
			var ids []postledger.ID
			for i := range batch {
				ids = append(ids, ledgertest.MessageID(p.shared+10*i))
			}
			_, err := p.LoadToSend(p.T.Context(), ids, 1<<20)
			return err
		}),
	},
	{
		name: "load a shared body", indexes: []string{"contents_pkey", "messages_pkey", "shared_bodies_pkey"},
		prepare: func(p *planned) func() {
			var ms []ledger.NewMessage
			for range 2 {
				m := p.Message([]string{"mira@rcpt.example"}, ledgertest.WithLane(postledger.LaneBulk))
				m.Content.Text = strings.Repeat("week 12, ", 200)
				ms = append(ms, m)
			}
			_, err := p.Accept(p.T.Context(), p.Request(ms...))
			p.must(err)
			id := ms[1].Message.ID
			return func() {
				got, err := p.LoadToSend(p.T.Context(), []postledger.ID{id}, 256<<10)
				p.must(err)
				if got[id].Content.Text != ms[1].Content.Text {
					p.T.Errorf("loaded %d bytes", len(got[id].Content.Text))
				}
			}
		},
	},
	{
		name: "look at the gates again", indexes: []string{"deliveries_pkey"},
		prepare: reads(func(p *planned) error {
			_, err := p.Recheck(p.T.Context(), p.fromTheEnd())
			return err
		}),
	},
	{
		name: "look a key up", indexes: []string{"idempotency_keys_pkey", "messages_pkey"},
		prepare: reads(func(p *planned) error {
			_, err := p.LookupKeys(p.T.Context(), p.App.ID, []string{"invoice-7"}, []string{"f"})
			return err
		}),
	},
	{
		name: "accept", indexes: []string{"idempotency_keys_pkey", "messages_pkey"},
		prepare: reads(func(p *planned) error {
			m := p.Message([]string{"mira@rcpt.example"}, ledgertest.WithKey(p.NewID().String(), "f"), ledgertest.WithLane(postledger.LaneBulk))
			_, err := p.Accept(p.T.Context(), p.Request(m))
			return err
		}),
	},
}

// reads is an operation that needs no preparation.
func reads(call func(p *planned) error) func(*planned) func() {
	return func(p *planned) func() { return func() { p.must(call(p)) } }
}

func (p *planned) must(err error) {
	p.T.Helper()
	if err != nil {
		p.T.Fatal(err)
	}
}

func (p *planned) lease(lane postledger.Lane) []ledger.Leased {
	p.T.Helper()
	c, err := p.Lease(p.T.Context(), p.Worker.ID, ledger.Counts{}, []ledger.Want{{Key: p.Key(lane), N: batch}})
	p.must(err)
	if len(c[0].Leased) < batch {
		p.T.Fatalf("leased %d of %d", len(c[0].Leased), batch)
	}
	return c[0].Leased
}

func (p *planned) settle(ls []ledger.Leased, m postledger.Mover, owner postledger.ID) {
	p.T.Helper()
	ss := make([]ledger.Settlement, len(ls))
	for i, l := range ls {
		ss[i] = ledger.Settlement{ID: l.ID, Fence: l.Fence, Owner: owner, Mover: m, To: postledger.StatusSent, Charged: true}
	}
	out, err := p.Settle(p.T.Context(), ss)
	p.must(err)
	for i := range out {
		if !out[i].Applied {
			p.T.Fatalf("settlement %d was refused", i)
		}
	}
}

func (p *planned) cancel(ids []postledger.ID) {
	p.T.Helper()
	out, err := p.Cancel(p.T.Context(), ids, postledger.ReasonCanceledByApp, "test")
	p.must(err)
	for i := range out {
		if !out[i].Done && !out[i].Wished {
			p.T.Fatalf("cancel %d did nothing: %+v", i, out[i])
		}
	}
}

// fromTheEnd are queued rows that no claim has come to yet.
func (p *planned) fromTheEnd() []postledger.ID {
	out := make([]postledger.ID, batch)
	for i := range out {
		p.end--
		out[i] = ledgertest.DeliveryID(p.end)
	}
	return out
}
