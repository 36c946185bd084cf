package accept

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/lens/stablehash"
)

// BatchHead is what the messages of a batch have in common.
type BatchHead struct {
	// Profile names the identity of all messages; empty is the default one.
	Profile string
	// Key makes the whole batch repeatable: a message without a key of its own
	// gets Key, "#" and its index. Such a key stands for the whole batch, so
	// another batch under it is refused, whichever message differs.
	Key string
	// Actor is who sends the messages that name none.
	Actor postledger.Actor
}

// Batch gathers messages that are accepted together: all that are new, or
// none. Messages whose key is known are replays and say so in the answer. A
// batch is used by one goroutine, and ends with Discard.
type Batch struct {
	s    *Service
	c    Caller
	head BatchHead

	p        problems
	n        int
	bytes    int
	keys     map[string]int
	drafts   []*draft
	consents bool  // a message is marketing
	err      error // a refusal that ends the batch
	// written: what is stored is not for drop to remove any more.
	written bool
}

// BatchReceipt says what became of each message, in their order.
type BatchReceipt struct {
	// BatchID is zero when every message was a replay.
	BatchID postledger.ID
	Items   []Receipt
}

// NewBatch begins a batch.
func (s *Service) NewBatch(c Caller, head BatchHead) *Batch {
	b := &Batch{s: s, c: c, head: head, p: newProblems(), keys: map[string]int{}}
	b.p.tight("profile", head.Profile, MaxName)
	b.p.tight("idempotency_key", head.Key, MaxKey-len("#999"))
	return b
}

// Add checks one more message. It keeps what Commit needs, so that a batch can
// be decoded message by message: not its attachments, whose content is stored
// before Add returns. Problems are gathered for Commit; an error means that
// reading further is pointless, and Commit would return it too.
func (b *Batch) Add(ctx context.Context, r *Request) error {
	if b.err != nil {
		return b.err
	}
	i := b.n
	b.n++
	if b.n > MaxBatch {
		return b.end(invalid("messages", RuleTooMany, fmt.Sprintf("has more than %d messages", MaxBatch)))
	}
	if b.bytes += r.weight(); b.bytes > MaxRequestBytes {
		return b.end(invalid("messages", RuleTooLarge, fmt.Sprintf("are larger than %d bytes together", MaxRequestBytes)))
	}
	d, ok := b.draft(i, r)
	if b.p.full() {
		return b.end(b.p.err())
	}
	if !ok || b.p.count() > 0 {
		return b.err // problems so far: what follows is checked only
	}
	if err := b.upload(ctx, d); err != nil {
		return b.end(err)
	}
	b.drafts = append(b.drafts, d)
	return nil
}

// end makes err the batch's answer.
func (b *Batch) end(err error) error {
	b.err = err
	b.drop()
	return err
}

// draft checks one message and gives it its place in the batch.
func (b *Batch) draft(i int, given *Request) (*draft, bool) {
	path := at("messages", i) + "."
	p := b.p.under(path)
	r := *given
	found := b.p.count()
	rcpts := r.validate(p, true)
	if r.Profile != "" && r.Profile != b.head.Profile {
		p.add("profile", RuleNotAllowed, "is not the batch's: a batch has one profile")
	}
	r.Profile, r.Lane = b.head.Profile, postledger.LaneBulk
	if r.Actor == (postledger.Actor{}) {
		r.Actor = b.head.Actor
	}
	b.consents = b.consents || r.consent() != nil
	d := &draft{app: b.c.App, req: &r, rcpts: rcpts, lane: r.Lane, path: path, action: "batch.accept", index: i}
	if r.Key != "" {
		if other, taken := b.keys[r.Key]; taken {
			b.end(&MismatchError{Index: i, Other: other})
			return nil, false
		}
		b.keys[r.Key] = i
	}
	if b.p.count() > found {
		return nil, false
	}
	if r.Key == "" && b.head.Key == "" {
		return d, true
	}
	print, err := r.fingerprint()
	if err != nil {
		p.add("", RuleSyntax, "cannot be compared with others")
		return nil, false
	}
	d.fingerprint = print
	return d, true
}

// upload stores a message's attachments, unless its key is known.
func (b *Batch) upload(ctx context.Context, d *draft) error {
	d.id = b.s.Ledger.NewID()
	if len(d.req.Attachments) == 0 {
		return nil
	}
	print, key := d.fingerprint, d.req.Key
	if key == "" && b.head.Key != "" {
		// What the key stands for is known only when the batch is complete.
		print, key = "", b.head.Key+"#"+strconv.Itoa(d.index)
	}
	if key != "" {
		known, err := b.s.Ledger.LookupKeys(ctx, d.app, []string{key}, []string{print})
		if err != nil {
			return b.at(d.index, refuse(err))
		}
		if _, ok := known[0]; ok {
			d.req.release()
			return nil
		}
	}
	e, err := b.s.policies.fresh(ctx, d.app, b.head.Profile)
	if err != nil {
		return refuse(err)
	}
	if err := b.s.checkBacklog(ctx, &e.Profile); err != nil {
		return err
	}
	if err := b.s.upload(ctx, d, &e); err != nil {
		return err
	}
	d.req.release()
	return nil
}

// release lets go of content that is stored, or not needed.
func (r *Request) release() {
	files := make([]Attachment, len(r.Attachments))
	for i, a := range r.Attachments {
		a.Data, a.Open = nil, nil
		files[i] = a
	}
	r.Attachments = files
}

// at gives a mismatch the index of its message.
func (b *Batch) at(i int, err error) error {
	var m *MismatchError
	if errors.As(err, &m) {
		return &MismatchError{Index: i, Other: -1}
	}
	return err
}

// Commit accepts the batch. It can be called once.
func (b *Batch) Commit(ctx context.Context) (BatchReceipt, error) {
	rec, err := b.commit(ctx)
	if err != nil {
		return BatchReceipt{}, b.end(err)
	}
	b.err = errDone
	return rec, nil
}

func (b *Batch) commit(ctx context.Context) (BatchReceipt, error) {
	switch {
	case b.err != nil:
		return BatchReceipt{}, b.err
	case b.n == 0:
		return BatchReceipt{}, invalid("messages", RuleRequired, "is empty")
	case b.p.count() > 0:
		return BatchReceipt{}, b.p.err()
	case b.consents:
		return BatchReceipt{}, ErrConsent
	}
	if err := b.deriveKeys(); err != nil {
		return BatchReceipt{}, err
	}
	rec := BatchReceipt{Items: make([]Receipt, len(b.drafts))}
	fresh, err := b.known(ctx, &rec)
	if err != nil {
		return BatchReceipt{}, err
	}
	if len(fresh) == 0 {
		b.written = true
		return rec, nil
	}
	return rec, b.write(ctx, fresh, &rec)
}

// deriveKeys gives the messages without a key one of the batch's. They stand
// for the whole batch: its number of messages, and all their fingerprints.
func (b *Batch) deriveKeys() error {
	if b.head.Key == "" {
		return nil
	}
	prints := make([]string, len(b.drafts))
	for i, d := range b.drafts {
		prints[i] = d.fingerprint
	}
	whole, err := stablehash.Sum(prints)
	if err != nil {
		return invalid("messages", RuleSyntax, "cannot be compared with others")
	}
	for i, d := range b.drafts {
		if d.req.Key != "" {
			continue
		}
		d.req.Key, d.fingerprint = b.head.Key+"#"+strconv.Itoa(i), whole.String()
		if other, taken := b.keys[d.req.Key]; taken {
			return &MismatchError{Index: max(i, other), Other: min(i, other)}
		}
		b.keys[d.req.Key] = i
	}
	return nil
}

// known answers for the messages whose keys are known and returns the others.
func (b *Batch) known(ctx context.Context, rec *BatchReceipt) ([]*draft, error) {
	var keys, prints []string
	var at []int
	for i, d := range b.drafts {
		if d.req.Key != "" {
			keys, prints, at = append(keys, d.req.Key), append(prints, d.fingerprint), append(at, i)
		}
	}
	items := map[int]ledger.AcceptedItem{}
	if len(keys) > 0 {
		known, err := b.s.Ledger.LookupKeys(ctx, b.c.App, keys, prints)
		var m *ledger.MismatchError
		switch {
		case errors.As(err, &m):
			return nil, &MismatchError{Index: at[m.Index], Other: -1}
		case err != nil:
			return nil, refuse(err)
		}
		for j, item := range known {
			items[at[j]] = item
		}
	}
	var fresh []*draft
	for i, d := range b.drafts {
		if item, ok := items[i]; ok {
			rec.Items[i] = receipt(item)
			b.s.removeFiles(ctx, d) // it became known while the batch was read
			continue
		}
		fresh = append(fresh, d)
	}
	return fresh, nil
}

// write commits the messages that are new.
func (b *Batch) write(ctx context.Context, fresh []*draft, rec *BatchReceipt) error {
	e, err := b.s.policies.fresh(ctx, b.c.App, b.head.Profile)
	if err != nil {
		return refuse(err)
	}
	if err := b.s.checkOverload(ctx); err != nil {
		return err
	}
	if err := b.s.checkBacklog(ctx, &e.Profile); err != nil {
		return err
	}
	for _, d := range fresh {
		if len(d.files) != len(d.req.Attachments) {
			// Its key was known when it was read and is not any more.
			return &BusyError{CodeInProgress, time.Second}
		}
	}
	sub := &submission{drafts: fresh, batch: b.s.Ledger.NewID(), action: "batch.accept"}
	b.written = true // from here on write removes what has to be removed
	out, err := b.s.write(ctx, b.c, sub, e)
	var m *MismatchError
	if errors.As(err, &m) {
		return &MismatchError{Index: fresh[m.Index].index, Other: -1}
	}
	if err != nil {
		return err
	}
	for j, d := range fresh {
		item := receipt(out.Items[j])
		if !item.Replayed {
			item.Removed, rec.BatchID = d.removed, sub.batch
		}
		rec.Items[d.index] = item
	}
	return nil
}

// Discard removes the attachments that were stored for messages that have not
// been accepted. After a Commit that was successful it does nothing.
func (b *Batch) Discard() {
	if b.err == nil {
		b.err = errDone
	}
	b.drop()
}

var errDone = errors.New("the batch was committed or discarded before")

func (b *Batch) drop() {
	if b.written {
		return
	}
	for _, d := range b.drafts {
		b.s.removeFiles(context.Background(), d)
	}
	b.drafts = nil
}

// weight is what a request holds beside its attachments, in bytes.
func (r *Request) weight() int {
	n := requestOverhead + len(r.Subject) + len(r.Text) + len(r.HTML)
	for _, l := range [...][]Recipient{r.To, r.Cc, r.Bcc} {
		for _, rc := range l {
			n += requestOverhead + len(rc.Address) + len(rc.Name)
		}
	}
	for _, h := range r.Headers {
		n += requestOverhead + len(h.Name) + len(h.Value)
	}
	for _, m := range r.ReplyTo {
		n += requestOverhead + len(m.Address) + len(m.Name)
	}
	return n
}
