package api

import (
	"context"
	"net/http"
	"reflect"
	"strconv"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
)

// batchRequest is up to 1,000 messages that are accepted together.
type batchRequest struct {
	Profile  string           `json:"profile,omitempty" given:"nonempty" doc:"The profile of all messages; the default one when left out."`
	Key      string           `json:"idempotency_key,omitempty" given:"nonempty" doc:"Makes the whole batch repeatable, for messages without a key of their own. The header Idempotency-Key means the same."`
	Actor    actorRequest     `json:"actor,omitzero" doc:"Who caused the messages that name nobody."`
	Messages []messageRequest `json:"messages" minItems:"1" maxItems:"1000" doc:"The messages. This member must be the last one: it is read message by message."`
}

// batchView is the answer to a batch that is in the ledger.
type batchView struct {
	BatchID  postledger.ID  `json:"batch_id,omitzero" doc:"The batch; missing when every message was a replay."`
	Replayed bool           `json:"replayed" doc:"Every message was a replay."`
	Messages []acceptedItem `json:"messages" doc:"What became of each message, in their order."`
}

func (batchView) status() int { return http.StatusAccepted }

type acceptedItem struct {
	ID       postledger.ID `json:"id"`
	BatchID  postledger.ID `json:"batch_id,omitzero" doc:"The batch it came in; of a replay, an earlier one."`
	Replayed bool          `json:"replayed"`
	Gone     bool          `json:"gone,omitempty" doc:"The key is known and its message is not kept any more; nothing is sent."`
	Removed  []string      `json:"removed,omitempty" doc:"What the filter took out of the HTML."`
}

type postBatchInput struct {
	IdempotencyKey string `header:"Idempotency-Key" doc:"Makes the whole batch repeatable; bare, or a quoted structured-field string."`
}

// maxBatchBody bounds a batch with its inline attachments. Without them its
// messages together have the bound of a single request.
const maxBatchBody = 2 * accept.MaxRequestBytes

func (s *server) postBatchRoute() {
	rt := route{
		method: http.MethodPost, path: "/v1/batches", id: "post-batch", tag: tagMessages,
		summary: "Send a batch",
		text:    "At most 1,000 messages in the bulk lane. All that are new are accepted, or none. Messages whose key is known are replays and say so.",
		app:     postledger.ScopeSend, action: "batch.accept", success: http.StatusAccepted, unhurried: true, maxBody: maxBatchBody,
		headers: map[string]string{"Idempotent-Replayed": "true, when every message is a replay."},
		codes:   []Code{codeBadInput, Code(accept.CodeMismatch), Code(accept.CodeBacklog), codeQuota, codeUnavailable},
	}
	register(s, rt, s.postBatch)
	describeBody[batchRequest](s, &rt)
}

func (s *server) postBatch(ctx context.Context, c *call, _ *postBatchInput) (batchView, error) {
	body, err := c.jsonBody(c.route.maxBody)
	if err != nil {
		return batchView{}, err
	}
	b := &batchReader{s: s, c: c, d: newDecoder(c.types, body)}
	defer b.discard()
	if err := b.read(ctx); err != nil {
		return batchView{}, err
	}
	b.d = nil // its buffer is as large as the largest message was
	rec, err := b.batch.Commit(ctx)
	if err != nil {
		return batchView{}, err
	}
	v := batchView{BatchID: rec.BatchID, Replayed: true, Messages: make([]acceptedItem, len(rec.Items))}
	for i, r := range rec.Items {
		v.Messages[i] = acceptedItem{r.MessageID, r.BatchID, r.Replayed, r.Gone, r.Removed}
		v.Replayed = v.Replayed && r.Replayed
	}
	if v.Replayed {
		c.w.Header().Set("Idempotent-Replayed", "true")
	}
	return v, nil
}

// batchReader decodes a batch and hands over each message before it reads the
// next: what is in memory is one message and the bodies of the others.
type batchReader struct {
	s     *server
	c     *call
	d     *decoder
	head  batchRequest
	batch *accept.Batch
}

func (b *batchReader) discard() {
	if b.batch != nil {
		b.batch.Discard()
	}
}

func (b *batchReader) read(ctx context.Context) error {
	ok, err := b.d.open('{', "an object", "")
	if err != nil {
		return err
	}
	if !ok {
		return b.d.err()
	}
	head := reflect.ValueOf(&b.head).Elem()
	fields := b.d.types.of(head.Type())
	err = b.d.members("", fields, func(name string) error {
		if name == "messages" {
			return b.messages(ctx)
		}
		if b.batch != nil {
			b.d.add(name, ruleOrder, "must stand before messages")
			return b.d.skipValue()
		}
		return b.d.member(head, fields[name], name)
	})
	if err != nil {
		return err
	}
	if err := b.d.end(); err != nil {
		return err
	}
	if b.batch == nil && len(b.d.problems) == 0 {
		b.d.add("messages", accept.RuleRequired, "is missing")
	}
	return b.d.err()
}

func (b *batchReader) messages(ctx context.Context) error {
	key, err := b.c.oneKey(b.head.Key)
	if err != nil {
		return err
	}
	b.batch = b.s.Acceptor.NewBatch(b.c.caller(), accept.BatchHead{
		Profile: b.head.Profile, Key: key, Actor: postledger.Actor(b.head.Actor),
	})
	ok, err := b.d.open('[', "a list", "messages")
	if !ok {
		return err
	}
	for i := 0; b.d.in.more(); i++ {
		var m messageRequest
		if err := b.d.value(reflect.ValueOf(&m).Elem(), "messages["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
		b.c.memory.keep(int64(len(m.Text) + len(m.HTML)))
		// After a fault of form only the form of the rest is looked at: the
		// step would find half of what is wrong, and under other indexes.
		if len(b.d.problems) > 0 {
			if i >= accept.MaxBatch || b.d.more > 0 {
				return b.d.err()
			}
			continue
		}
		if err := b.batch.Add(ctx, m.request()); err != nil {
			return err
		}
	}
	return b.d.closed()
}
