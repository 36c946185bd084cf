package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
)

type batchBody struct {
	Profile  string `json:"profile"`
	Key      string `json:"idempotency_key"`
	Messages []struct {
		Key         string
		Subject     string `json:"subject"`
		ItemKey     string `json:"idempotency_key"`
		Attachments []struct {
			Name    string  `json:"name"`
			Content *[]byte `json:"content"`
		} `json:"attachments"`
	} `json:"messages"`
}

// books is a server that keeps what it accepted by key, as the real one does.
type books struct {
	mu       sync.Mutex
	ids      postledger.IDSource
	accepted map[string]postledger.ID
	batches  []batchBody
	// fail, if set, answers instead; it is given the number of the request.
	fail func(n int, w http.ResponseWriter, b *batchBody) bool
	n    int
}

func (s *books) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b batchBody
	if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
		panic(err)
	}
	n := s.n
	s.n++
	if s.fail != nil && s.fail(n, w, &b) {
		return
	}
	s.batches = append(s.batches, b)
	if s.accepted == nil {
		s.accepted = map[string]postledger.ID{}
	}
	var out struct {
		Messages []map[string]any `json:"messages"`
	}
	for i, m := range b.Messages {
		key := m.ItemKey
		if key == "" {
			key = fmt.Sprintf("%s#%d", b.Key, i)
		}
		id, replayed := s.accepted[key]
		if !replayed {
			id = s.ids.Next(testTime)
			s.accepted[key] = id
		}
		out.Messages = append(out.Messages, map[string]any{"id": id, "replayed": replayed})
	}
	text, _ := json.Marshal(out)
	answer(w, http.StatusAccepted, string(text))
}

func numbered(n int) []*client.Message {
	out := make([]*client.Message, n)
	for i := range out {
		out[i] = &client.Message{To: client.To("mira@example.net"), Subject: fmt.Sprint(i), Text: "x"}
	}
	return out
}

func TestSendBatch(t *testing.T) {
	t.Parallel()
	s := &books{fail: func(n int, w http.ResponseWriter, _ *batchBody) bool {
		if n == 0 {
			cut("")(w, nil)
		}
		return n == 0
	}}
	messages := numbered(3)
	messages[1].Attachments = []client.Attachment{
		client.Once("a", "", strings.NewReader("content")), client.Bytes("empty", "", nil),
	}
	got, err := serve(t, s.serve).SendBatch(t.Context(), &client.Batch{Profile: "news", Messages: messages})
	if err != nil || len(got.Messages) != 3 || got.Messages[2].ID.IsZero() {
		t.Fatalf("got %+v, %v", got, err)
	}
	b := s.batches[0]
	if b.Key == "" || b.Key != got.Key || b.Profile != "news" {
		t.Errorf("sent key %q and profile %q, returned key %q", b.Key, b.Profile, got.Key)
	}
	files := b.Messages[1].Attachments
	if len(files) != 2 || string(*files[0].Content) != "content" || files[1].Content == nil || len(*files[1].Content) != 0 {
		t.Errorf("sent files %+v", files)
	}
}

func TestSendBatchRefusesSizes(t *testing.T) {
	t.Parallel()
	c := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was made") })
	for _, n := range []int{0, 1001} {
		if _, err := c.SendBatch(t.Context(), &client.Batch{Messages: numbered(n)}); err == nil {
			t.Errorf("%d messages: want an error", n)
		}
	}
	for name, messages := range map[string][]*client.Message{
		"a nil message":         {message(), nil},
		"text that is not UTF8": {message(), {Subject: "\xff"}},
		"a name that is not":    {message(), {To: []client.Recipient{{Name: "\xff"}}}},
	} {
		if _, err := c.SendBatch(t.Context(), &client.Batch{Messages: messages}); err == nil || !strings.Contains(err.Error(), "messages[1]") {
			t.Errorf("%s: got %v, want an error about messages[1]", name, err)
		}
	}
}

func TestAnswerThatDoesNotFitTheBatch(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, 202, `{"messages":[{}]}`) })
	if _, err := c.SendBatch(t.Context(), &client.Batch{Messages: numbered(2)}); err == nil {
		t.Error("want an error")
	}
}

func newSender(t *testing.T, c *client.Client, o client.BatchOptions) *client.BatchSender {
	t.Helper()
	s, err := c.NewBatchSender(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func collect(seq iter.Seq2[client.SentMessage, error]) (out []client.SentMessage, err error) {
	for m, e := range seq {
		if e != nil {
			return out, e
		}
		out = append(out, m)
	}
	return out, nil
}

func TestBatchSenderCutsBySizeAndBytes(t *testing.T) {
	t.Parallel()
	long := numbered(25)
	for _, m := range long {
		m.Text = strings.Repeat("x", 1000)
	}
	tests := map[string]struct {
		options  client.BatchOptions
		messages []*client.Message
		want     []int
	}{
		"by size":                  {client.BatchOptions{Name: "n", Size: 10}, numbered(25), []int{10, 10, 5}},
		"a full last one":          {client.BatchOptions{Name: "n", Size: 5}, numbered(10), []int{5, 5}},
		"by bytes":                 {client.BatchOptions{Name: "n", Bytes: 12_000}, long, []int{11, 11, 3}},
		"each larger than allowed": {client.BatchOptions{Name: "n", Bytes: 100}, long[:3], []int{1, 1, 1}},
		"nothing":                  {client.BatchOptions{Name: "n"}, nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &books{}
			sender := newSender(t, serve(t, s.serve), test.options)
			got, err := collect(sender.Send(t.Context(), client.Each(test.messages)))
			if err != nil || len(got) != len(test.messages) || sender.Next() != int64(len(test.messages)) {
				t.Fatalf("got %d messages, next %d, %v", len(got), sender.Next(), err)
			}
			var sizes []int
			for _, b := range s.batches {
				sizes = append(sizes, len(b.Messages))
			}
			if !slices.Equal(sizes, test.want) {
				t.Errorf("batches of %v, want %v", sizes, test.want)
			}
			for i, m := range got {
				if m.N != int64(i) || m.Key != fmt.Sprintf("n/%d", i) || m.ID != s.accepted[m.Key] || m.ID.IsZero() {
					t.Errorf("message %d: got %+v", i, m)
				}
			}
		})
	}
}

// Whatever fails on the way, going on from Next, or beginning again under the
// same name, sends each message once.
func TestBatchSenderGoesOn(t *testing.T) {
	t.Parallel()
	s := &books{fail: func(n int, w http.ResponseWriter, _ *batchBody) bool {
		if n == 2 {
			refuse(w, 409, `{"code":"backlog_full","limit":5,"used":7}`)
		}
		return n == 2
	}}
	c := serve(t, s.serve)
	messages := numbered(50)
	sender := newSender(t, c, client.BatchOptions{Name: "may", Size: 10})
	got, err := collect(sender.Send(t.Context(), client.Each(messages)))
	var failed *client.BatchError
	if !errors.As(err, &failed) || failed.First != 20 || failed.Last != 29 || !errors.Is(err, client.ErrBacklogFull) {
		t.Fatalf("got %v, want the third batch refused", err)
	}
	if len(got) != 20 || sender.Next() != 20 {
		t.Fatalf("%d sent, next %d", len(got), sender.Next())
	}
	rest, err := collect(sender.Send(t.Context(), client.Each(messages[sender.Next():])))
	if err != nil || len(rest) != 30 || rest[0].N != 20 || rest[0].Replayed {
		t.Fatalf("got %d, %v", len(rest), err)
	}
	// Another process that knows nothing but the name, with other batches.
	again, err := collect(newSender(t, c, client.BatchOptions{Name: "may", Size: 7}).Send(t.Context(), client.Each(messages)))
	if err != nil || len(again) != 50 || slices.ContainsFunc(again, func(m client.SentMessage) bool { return !m.Replayed }) {
		t.Errorf("got %d, %v: want 50 replays", len(again), err)
	}
	if len(s.accepted) != 50 {
		t.Errorf("%d messages were accepted, want 50", len(s.accepted))
	}
}

func TestBatchSenderThatIsLeftEarly(t *testing.T) {
	t.Parallel()
	s := &books{}
	sender := newSender(t, serve(t, s.serve), client.BatchOptions{Name: "n", Size: 10})
	for range sender.Send(t.Context(), client.Each(numbered(30))) {
		break
	}
	if sender.Next() != 10 || len(s.batches) != 1 {
		t.Errorf("next %d after %d batches, want 10 after 1", sender.Next(), len(s.batches))
	}
}

func TestBatchSenderEndsWithItsSource(t *testing.T) {
	t.Parallel()
	s := &books{}
	broken := errors.New("the cursor was closed")
	sender := newSender(t, serve(t, s.serve), client.BatchOptions{Name: "n", Size: 10})
	got, err := collect(sender.Send(t.Context(), func(yield func(*client.Message, error) bool) {
		for _, m := range numbered(15) {
			if !yield(m, nil) {
				return
			}
		}
		yield(nil, broken)
	}))
	if !errors.Is(err, broken) || len(got) != 10 || sender.Next() != 10 {
		t.Errorf("got %d messages, next %d, %v", len(got), sender.Next(), err)
	}
}

// bad refuses the messages with an odd subject, at most two of them at a time.
func bad(_ int, w http.ResponseWriter, b *batchBody) bool {
	var fields []string
	more := 0
	for i, m := range b.Messages {
		if strings.HasSuffix(m.Subject, "3") || strings.HasSuffix(m.Subject, "7") {
			if len(fields) == 2 {
				more++
				continue
			}
			fields = append(fields, fmt.Sprintf(`{"field":"messages[%d].subject","rule":"control","message":"holds a line break"}`, i))
		}
	}
	if len(fields) == 0 {
		return false
	}
	refuse(w, 400, fmt.Sprintf(`{"code":"bad_input","errors":[%s],"more_errors":%d}`, strings.Join(fields, ","), more))
	return true
}

func TestBatchSenderSkipsWhatIsRefused(t *testing.T) {
	t.Parallel()
	s := &books{fail: bad}
	sender := newSender(t, serve(t, s.serve), client.BatchOptions{Name: "n", Size: 25, SkipRefused: true})
	got, err := collect(sender.Send(t.Context(), client.Each(numbered(40))))
	if err != nil || len(got) != 40 || len(s.accepted) != 32 {
		t.Fatalf("got %d, accepted %d, %v", len(got), len(s.accepted), err)
	}
	for i, m := range got {
		odd := i%10 == 3 || i%10 == 7
		if m.N != int64(i) || (m.Refused != nil) != odd || m.ID.IsZero() != odd {
			t.Errorf("message %d: got %+v", i, m)
		}
		if odd && m.Refused[0].Field != fmt.Sprintf("messages[%d].subject", i) {
			t.Errorf("message %d is refused for %q", i, m.Refused[0].Field)
		}
	}
}

func TestBatchSenderNamesWhatIsRefused(t *testing.T) {
	t.Parallel()
	s := &books{fail: bad}
	sender := newSender(t, serve(t, s.serve), client.BatchOptions{Name: "n", Size: 25, Start: 100})
	_, err := collect(sender.Send(t.Context(), client.Each(numbered(40))))
	var e *client.Error
	if !errors.As(err, &e) || e.Fields[0].Field != "messages[103].subject" || sender.Next() != 100 {
		t.Errorf("got %v, next %d", err, sender.Next())
	}
}

// A refusal that is not about messages of its own must not be skipped.
func TestBatchSenderDoesNotSkipTheRest(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"code":"bad_input","errors":[{"field":"profile"}]}`,
		`{"code":"bad_input","errors":[{"field":"messages[1].subject"},{"field":"messages"}]}`,
		`{"code":"bad_input","errors":[{"field":"messages[10].subject"}]}`,
		`{"code":"bad_input"}`,
		`{"code":"profile_required"}`,
	} {
		s := &books{fail: func(_ int, w http.ResponseWriter, _ *batchBody) bool { refuse(w, 400, text); return true }}
		sender := newSender(t, serve(t, s.serve), client.BatchOptions{Name: "n", SkipRefused: true})
		if got, err := collect(sender.Send(t.Context(), client.Each(numbered(10)))); err == nil || len(got) != 0 || s.n != 1 {
			t.Errorf("%s: got %d messages, %v in %d requests", text, len(got), err, s.n)
		}
	}
}

func TestBatchOptions(t *testing.T) {
	t.Parallel()
	c := serve(t, func(http.ResponseWriter, *http.Request) {})
	for name, o := range map[string]client.BatchOptions{
		"no name":    {},
		"long name":  {Name: strings.Repeat("n", 231)},
		"size":       {Name: "n", Size: 1001},
		"below zero": {Name: "n", Size: -1},
		"bytes":      {Name: "n", Bytes: 33 << 20},
		"start":      {Name: "n", Start: -1},
	} {
		if _, err := c.NewBatchSender(o); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}

func TestBatchSenderObeysItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := &books{fail: func(n int, _ http.ResponseWriter, _ *batchBody) bool {
		if n == 1 {
			cancel()
		}
		return false
	}}
	sender := newSender(t, serve(t, s.serve), client.BatchOptions{Name: "n", Size: 10})
	got, err := collect(sender.Send(ctx, client.Each(numbered(50))))
	if !errors.Is(err, context.Canceled) || len(got) != int(sender.Next()) || len(got) > 20 {
		t.Errorf("got %d messages, next %d, %v", len(got), sender.Next(), err)
	}
}
