package api

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/ledger"
)

// acceptedView is the answer to a message that is in the ledger.
type acceptedView struct {
	ID       postledger.ID `json:"id" doc:"The message."`
	BatchID  postledger.ID `json:"batch_id,omitzero" doc:"The batch it came in."`
	Replayed bool          `json:"replayed" doc:"The idempotency key was known: this is the answer to the request that used it first, and nothing was written."`
	Removed  []string      `json:"removed,omitempty" doc:"What the filter took out of the HTML."`

	// What follows is there when the answer was waited for.
	Status   postledger.Status         `json:"status,omitempty" doc:"The message's state; when the answer was waited for."`
	Counts   map[postledger.Status]int `json:"counts,omitempty" doc:"How many deliveries are in each state that occurs; when the answer was waited for."`
	Failures []failureView             `json:"failures,omitempty" doc:"The recipients that did not get it; when the answer was waited for."`

	settled bool
}

func (v *acceptedView) status() int {
	if v.settled {
		return http.StatusOK
	}
	return http.StatusAccepted
}

type postMessageInput struct {
	IdempotencyKey string `header:"Idempotency-Key" doc:"Makes a repetition harmless; bare, or a quoted structured-field string." example:"\"order-4711\""`
	Prefer         string `header:"Prefer" doc:"wait=N, at most 30: answer when every delivery has settled or was deferred once, or after N seconds. For immediate messages that are due." example:"wait=10"`
}

func (s *server) postMessageRoute() {
	rt := route{
		method: http.MethodPost, path: "/v1/messages", id: "post-message", tag: tagMessages,
		summary: "Send a message",
		text: "The answer comes after the message is in the ledger with one delivery for each recipient: 202, or 200 when `Prefer: wait=N` was given and every delivery has settled.\n\n" +
			"Large attachments come as `multipart/form-data`: the first part is `message` (JSON), whose `attachments` describe the files without their content; the parts `attachment` follow in the same order and are stored as they come.",
		app: postledger.ScopeSend, action: "message.accept", success: http.StatusAccepted, unhurried: true, maxBody: accept.MaxRequestBytes,
		responses: map[string]string{"200": "Accepted, and every delivery has settled"},
		headers: map[string]string{
			"Idempotent-Replayed": "true, when the answer is a replay.",
			"Preference-Applied":  "wait=N, when the answer was waited for.",
		},
		codes: []Code{codeBadInput, codeProfileRequired, codeProfileUnknown, codeQuota, codeRate, codeUnavailable},
		also:  multipartBody(),
	}
	register(s, rt, s.postMessage)
	describeBody[messageRequest](s, &rt)
}

func (s *server) postMessage(ctx context.Context, c *call, _ *postMessageInput) (*acceptedView, error) {
	wait, err := waitPreference(c.r.Header.Values("Prefer"))
	if err != nil {
		return nil, err
	}
	r, err := c.messageBody()
	if err != nil {
		return nil, err
	}
	if r.Key, err = c.oneKey(r.Key); err != nil {
		return nil, err
	}
	rec, err := s.Acceptor.Accept(ctx, c.caller(), r)
	if err != nil {
		return nil, err
	}
	out := &acceptedView{ID: rec.MessageID, BatchID: rec.BatchID, Replayed: rec.Replayed, Removed: rec.Removed}
	if rec.Replayed {
		c.w.Header().Set("Idempotent-Replayed", "true")
	}
	if wait > 0 && s.leavesNow(r) {
		s.waited(ctx, c, out, wait)
	}
	return out, nil
}

// leavesNow reports whether a message leaves as soon as it can: waiting is for
// those only, and others are answered at once.
func (s *server) leavesNow(r *accept.Request) bool {
	return r.Lane != postledger.LaneBulk && !r.SendAt.After(s.Now())
}

// waited waits for the wire and adds how far the message has come. The message
// is in the ledger: nothing that fails here may make the answer a refusal.
func (s *server) waited(ctx context.Context, c *call, out *acceptedView, wait time.Duration) {
	// Of a replay the files were not read, and the deadline of the body is set.
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Time{})
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := s.Waiter.Wait(limited, out.ID); err != nil && limited.Err() == nil {
		s.Log.WarnContext(ctx, "nobody waits for a message", slog.String("message", out.ID.String()), slog.Any("error", err))
		return
	}
	v, err := s.Ledger.MessageByID(ctx, c.key.AppID, out.ID)
	if err != nil {
		s.Log.WarnContext(ctx, "read a message that was waited for", slog.String("message", out.ID.String()), slog.Any("error", err))
		return
	}
	c.w.Header().Set("Preference-Applied", "wait="+strconv.Itoa(int(wait/time.Second)))
	sum := summary(v.Summary)
	out.Status, out.Counts, out.Failures = sum.Status, sum.Counts, sum.Failures
	out.settled = settled(v.Summary)
}

// settled reports whether nothing more happens by itself.
func settled(s ledger.Summary) bool {
	return s.Counts[postledger.StatusQueued] == 0 && s.Counts[postledger.StatusSending] == 0
}

// messageBody reads a message as JSON or as multipart/form-data.
func (c *call) messageBody() (*accept.Request, error) {
	media, err := c.media()
	if err != nil {
		return nil, err
	}
	switch media {
	case "application/json":
		var m messageRequest
		if err := newDecoder(c.types, c.body(c.route.maxBody)).whole(&m); err != nil {
			return nil, err
		}
		return m.request(), nil
	case "multipart/form-data":
		return c.multipartMessage()
	default:
		return nil, problem(codeMediaType, "the Content-Type must be application/json or multipart/form-data")
	}
}
