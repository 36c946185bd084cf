package deliver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/blob"
	"github.com/postledger/postledger/internal/deliver/health"
	"github.com/postledger/postledger/internal/mime"
	"github.com/postledger/postledger/internal/transport"
)

// shelf is the store of attachments as the senders see it. When it cannot be
// read, that is no message's fault and no hop's: envelopes with attachments go
// back uncharged, at once and without a connection, until one of them has
// probed it. Mail without attachments goes on.
type shelf struct {
	open func(ctx context.Context, key string) (io.ReadCloser, error)
	log  *slog.Logger

	mu     sync.Mutex
	health *health.Health
}

func newShelf(c *Config) *shelf {
	return &shelf{open: c.Open, log: c.Log, health: health.New(time.Now())}
}

// admit says whether an envelope may go on to read its attachments. While the
// store is down one of them at a time tries it, when a probe is due.
func (s *shelf) admit(ctx context.Context, attachments []postledger.Attachment) (health.Ticket, bool) {
	s.mu.Lock()
	ticket := s.health.Start()
	up := len(attachments) == 0 || s.health.State() == health.Up
	probe := !up && s.health.StartProbe(time.Now())
	s.mu.Unlock()
	if up || !probe {
		return ticket, up
	}
	err := s.probe(ctx, attachments[0].Blob)
	o := postledger.Outcome{Class: postledger.OutcomeAccepted}
	switch {
	case ctx.Err() != nil:
		o.Class = postledger.OutcomeReturned
	case isStoreDown(err):
		o.Class = postledger.OutcomeUnavailable
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.health.Probed(time.Now(), o) {
		s.log.Info("attachments can be read again")
	}
	return s.health.Start(), o.Class == postledger.OutcomeAccepted
}

// probe reads the first byte: an answer's head alone proves little.
func (s *shelf) probe(ctx context.Context, key string) error {
	r, err := s.open(ctx, key)
	if err != nil {
		return err
	}
	_, err = r.Read(make([]byte, 1))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, r.Close())
}

// heard takes what an envelope with attachments came to: nil, or why they could
// not be read.
func (s *shelf) heard(ctx context.Context, ticket health.Ticket, err error) {
	o := postledger.Outcome{Class: postledger.OutcomeAccepted}
	if isStoreDown(err) {
		o.Class = postledger.OutcomeUnavailable
	}
	if ctx.Err() != nil {
		return // the worker stops, which may be all that went wrong
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.health.Observe(time.Now(), ticket, o) {
		s.log.Warn("attachments cannot be read; mail with attachments waits", slog.Any("error", err))
	}
}

// isStoreDown tells trouble with the store from trouble with what it holds.
func isStoreDown(err error) bool {
	return err != nil && !errors.Is(err, blob.ErrNotFound) && !errors.Is(err, blob.ErrKey) && !errors.Is(err, mime.ErrContentChanged)
}

// watchedMessage is a message that remembers whether its attachments could be read:
// for a transport any message that cannot be written is the same.
type watchedMessage struct {
	*mime.Message
	failed error
}

// WriteTo implements transport.Message.
func (m *watchedMessage) WriteTo(w io.Writer) (int64, error) {
	n, err := m.Message.WriteTo(w)
	var unread *mime.AttachmentError
	if errors.As(err, &unread) {
		m.failed = unread.Err
	}
	return n, err
}

var _ transport.Message = (*watchedMessage)(nil)

// blame gives the outcomes of recipients whose message could not be read the
// cause that the transport could not know. What the hop has said stays.
func (m *watchedMessage) blame(outcomes []postledger.Outcome) {
	if m.failed == nil {
		return
	}
	for i, o := range outcomes {
		if o.Class == postledger.OutcomeDeferred && o.Phase == postledger.PhaseBody && o.Code == 0 {
			outcomes[i] = unreadOutcome(m.failed)
			outcomes[i].Phase = postledger.PhaseBody
		}
	}
}

// unreadOutcome is what becomes of a message whose attachment could not be
// read. A blob that is not there is tried again like any failure: the store may
// be one that this process does not see all of.
func unreadOutcome(err error) postledger.Outcome {
	switch {
	case errors.Is(err, mime.ErrContentChanged):
		return postledger.Outcome{Class: postledger.OutcomeRefused, Reason: postledger.ReasonContentLost, Text: "the content needed to build the message is missing"}
	case isStoreDown(err):
		return postledger.Outcome{Class: postledger.OutcomeReturned, Reason: postledger.ReasonStorageUnavailable, Text: "the attachments could not be read"}
	default:
		return postledger.Outcome{Class: postledger.OutcomeDeferred, Text: "an attachment is not in the store"}
	}
}
