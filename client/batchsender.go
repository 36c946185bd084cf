package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/postledger/postledger"
)

// BatchOptions say how a BatchSender works.
type BatchOptions struct {
	// Name names the whole sequence, at most 230 bytes: the n-th message gets
	// the idempotency key Name/n unless it has one. Sending the same sequence
	// under the same name again, in this process or another, sends nothing
	// twice.
	Name string
	// Profile and Actor are as in Batch.
	Profile string
	Actor   postledger.Actor
	// Size is how many messages a batch has at most, up to MaxBatch; 0 is 500.
	Size int
	// Bytes is how much JSON a batch has at most, up to 32 MiB; 0 is 4 MiB. A
	// larger message goes by itself.
	Bytes int
	// Start is the number of the first message: what Next said when an earlier
	// sender stopped. It only saves the time of replays.
	Start int64
	// SkipRefused leaves out messages that break a rule, and goes on; they are
	// reported with Refused set. Without it the first one ends the sequence.
	SkipRefused bool
}

// SentMessage is what became of one message of a sequence.
type SentMessage struct {
	// N is its number in the sequence, from 0.
	N int64
	// Key is the idempotency key it was sent with.
	Key string
	AcceptedItem
	// Refused is what is wrong with a message that was left out; such a message
	// has no ID.
	Refused []Field
}

// BatchError ends a sequence.
type BatchError struct {
	// First and Last are the numbers of the messages in the batch that failed.
	// None of the new ones among them was accepted, unless the answer is not
	// known; either way they can be sent again under their keys.
	First, Last int64
	// Err is the failure. The Fields of an *Error have the numbers of the
	// sequence: "messages[70123].subject".
	Err error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("send messages %d to %d: %s", e.First, e.Last, e.Err)
}

// Unwrap is the failure.
func (e *BatchError) Unwrap() error { return e.Err }

// BatchSender sends any number of messages in batches. It holds one batch in
// memory. It is used by one goroutine at a time.
type BatchSender struct {
	c    *Client
	o    BatchOptions
	next int64
}

const (
	defaultBatchSize  = 500
	defaultBatchBytes = 4 << 20
	maxBatchBytes     = 32 << 20
	maxBatchName      = 230
)

// NewBatchSender makes a sender for one sequence of messages.
func (c *Client) NewBatchSender(o BatchOptions) (*BatchSender, error) {
	if o.Size == 0 {
		o.Size = defaultBatchSize
	}
	if o.Bytes == 0 {
		o.Bytes = defaultBatchBytes
	}
	switch {
	case o.Name == "" || len(o.Name) > maxBatchName:
		return nil, fmt.Errorf("batch sender: name: want 1 to %d bytes", maxBatchName)
	case o.Size < 1 || o.Size > MaxBatch:
		return nil, fmt.Errorf("batch sender: size: want 1 to %d", MaxBatch)
	case o.Bytes < 1 || o.Bytes > maxBatchBytes:
		return nil, fmt.Errorf("batch sender: bytes: want 1 to %d", maxBatchBytes)
	case o.Start < 0:
		return nil, errors.New("batch sender: start: must not be negative")
	}
	return &BatchSender{c: c, o: o, next: o.Start}, nil
}

// Next is the number of the first message that is not known to be accepted or
// left out: where to go on after an error.
func (s *BatchSender) Next() int64 { return s.next }

// Send reads messages, which begin with number Next, and sends them batch by
// batch; it yields what became of each. It ends with the first error: a
// *BatchError, or what the sequence itself yielded. To go on, call it again with
// the messages from Next. A loop that is left early leaves the rest of its
// batch accepted: Next counts it.
func (s *BatchSender) Send(ctx context.Context, messages iter.Seq2[*Message, error]) iter.Seq2[SentMessage, error] {
	return func(yield func(SentMessage, error) bool) {
		var b pending
		flush := func() bool {
			sent, err := s.flush(ctx, &b)
			for _, m := range sent {
				if !yield(m, nil) {
					return false
				}
			}
			if err != nil {
				yield(SentMessage{}, err)
			}
			return err == nil
		}
		n := s.next
		for m, err := range messages {
			var text json.RawMessage
			var key string
			if err == nil {
				key, text, err = s.encode(n, m)
			}
			if err != nil {
				yield(SentMessage{}, err)
				return
			}
			if !b.fits(len(text), &s.o) && !flush() {
				return
			}
			b.add(n, key, text)
			n++
		}
		if len(b.texts) > 0 {
			flush()
		}
	}
}

func (s *BatchSender) encode(n int64, m *Message) (string, json.RawMessage, error) {
	if m == nil {
		return "", nil, fmt.Errorf("messages[%d]: %w", n, errNoMessage)
	}
	keyed := *m
	if keyed.Key == "" {
		keyed.Key = s.o.Name + "/" + strconv.FormatInt(n, 10)
	}
	text, err := encodeInline(&keyed)
	if err != nil {
		return "", nil, fmt.Errorf("messages[%d]: %w", n, err)
	}
	return keyed.Key, text, nil
}

// pending is a batch that is being gathered. Its messages are encoded: that
// bounds what it holds.
type pending struct {
	numbers []int64
	keys    []string
	texts   []json.RawMessage
	bytes   int
}

func (b *pending) fits(n int, o *BatchOptions) bool {
	return len(b.texts) == 0 || len(b.texts) < o.Size && b.bytes+n <= o.Bytes
}

func (b *pending) add(n int64, key string, text json.RawMessage) {
	b.numbers, b.keys, b.texts = append(b.numbers, n), append(b.keys, key), append(b.texts, text)
	b.bytes += len(text)
}

func (b *pending) drop(i int) {
	b.numbers, b.keys, b.texts = slices.Delete(b.numbers, i, i+1), slices.Delete(b.keys, i, i+1), slices.Delete(b.texts, i, i+1)
}

// flush sends the batch and empties it.
func (s *BatchSender) flush(ctx context.Context, b *pending) ([]SentMessage, error) {
	first, last := b.numbers[0], b.numbers[len(b.numbers)-1]
	defer func() { *b = pending{} }()
	var out []SentMessage
	for len(b.texts) > 0 {
		w := wireBatch{Profile: s.o.Profile, Actor: s.o.Actor, Messages: b.texts}
		a, err := s.c.sendBatch(ctx, "send batch", &w, "")
		if err == nil {
			for i, item := range a.Messages {
				out = append(out, SentMessage{N: b.numbers[i], Key: b.keys[i], AcceptedItem: item})
			}
			break
		}
		refused, whole := b.refused(err)
		if whole || !s.o.SkipRefused {
			return nil, &BatchError{First: first, Last: last, Err: err}
		}
		out = append(out, refused...)
	}
	s.next = last + 1
	slices.SortFunc(out, func(a, b SentMessage) int { return cmp.Compare(a.N, b.N) })
	return out, nil
}

// refused takes the messages out that a refusal is about, and gives its fields
// the numbers of the sequence. whole says that it is about the batch itself.
func (b *pending) refused(err error) (out []SentMessage, whole bool) {
	var e *Error
	if !errors.As(err, &e) || e.Code != ErrBadInput || len(e.Fields) == 0 {
		return nil, true
	}
	at := map[int]*SentMessage{}
	for k, f := range e.Fields {
		i, rest, ok := messageIndex(f.Field)
		if !ok || i >= len(b.texts) {
			whole = true
			continue
		}
		e.Fields[k].Field = "messages[" + strconv.FormatInt(b.numbers[i], 10) + "]" + rest
		if at[i] == nil {
			at[i] = &SentMessage{N: b.numbers[i], Key: b.keys[i]}
		}
		at[i].Refused = append(at[i].Refused, e.Fields[k])
	}
	if whole {
		return nil, true
	}
	for i := len(b.texts) - 1; i >= 0; i-- {
		if at[i] != nil {
			out = append(out, *at[i])
			b.drop(i)
		}
	}
	return out, false
}

// messageIndex takes "messages[3].subject" apart.
func messageIndex(field string) (i int, rest string, ok bool) {
	digits, ok := strings.CutPrefix(field, "messages[")
	if !ok {
		return 0, "", false
	}
	digits, rest, ok = strings.Cut(digits, "]")
	if !ok {
		return 0, "", false
	}
	i, err := strconv.Atoi(digits)
	return i, rest, err == nil && i >= 0
}

// Each makes a sequence of a list, for BatchSender.Send.
func Each(messages []*Message) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		for _, m := range messages {
			if !yield(m, nil) {
				return
			}
		}
	}
}
