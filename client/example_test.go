package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
)

// exampleClient is a client of a server that answers as told.
func exampleClient(answers map[string]http.HandlerFunc) (*client.Client, func()) {
	mux := http.NewServeMux()
	for pattern, h := range answers {
		mux.HandleFunc(pattern, h)
	}
	srv := httptest.NewServer(mux)
	c, err := client.New(srv.URL, "pl_app_example")
	if err != nil {
		panic(err)
	}
	return c, srv.Close
}

func says(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { answer(w, status, text) }
}

func Example() {
	c, done := exampleClient(map[string]http.HandlerFunc{
		"POST /v1/messages": says(202, `{"id":"01890a5d-ac96-774b-bcce-b302099a8057","replayed":false}`),
	})
	defer done()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	accepted, err := c.Send(ctx, &client.Message{
		To:      []client.Recipient{{Address: "mira@example.net", Name: "Mira Holt"}},
		Subject: "Your order has left",
		Text:    "It should be with you on Thursday.",
		Ref:     client.Ref{Scope: "order", ID: "4711"},
		// The key names the occasion, so that nothing is sent twice even if the
		// application is restarted in the middle of this call.
		Key: "order-left-4711",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("accepted as", accepted.ID)
	// Output: accepted as 01890a5d-ac96-774b-bcce-b302099a8057
}

func ExampleWait() {
	c, done := exampleClient(map[string]http.HandlerFunc{
		"POST /v1/messages": says(200, `{"id":"01890a5d-ac96-774b-bcce-b302099a8057","status":"sent","counts":{"sent":1}}`),
	})
	defer done()

	accepted, err := c.Send(context.Background(), &client.Message{
		To: client.To("mira@example.net"), Subject: "Your code", Text: "193 447",
	}, client.Wait(10*time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	if accepted.Settled() {
		fmt.Println(accepted.Status)
	}
	// Output: sent
}

func ExampleClient_Send_attachments() {
	c, done := exampleClient(map[string]http.HandlerFunc{
		"POST /v1/messages": func(w http.ResponseWriter, r *http.Request) {
			u, err := readUpload(r)
			if err != nil {
				panic(err)
			}
			fmt.Println("stored", len(u.files), "files")
			accepts(w, r)
		},
	})
	defer done()
	invoice, err := os.CreateTemp("", "invoice-*.pdf")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(invoice.Name())

	_, err = c.Send(context.Background(), &client.Message{
		To: client.To("mira@example.net"), Subject: "Your invoice", Text: "Please find it attached.",
		Attachments: []client.Attachment{
			client.File(invoice.Name()), // streamed, and opened again for each try
			client.Bytes("terms.txt", "text/plain", []byte("Thirty days.")),
		},
	})
	fmt.Println(err)
	// Output:
	// stored 2 files
	// <nil>
}

func ExampleError() {
	c, done := exampleClient(map[string]http.HandlerFunc{
		"POST /v1/messages": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "5400")
			refuse(w, 429, `{"code":"quota_exceeded","title":"The quota is used up","limit":1000,"used":1000,"requested":1}`)
		},
	})
	defer done()

	_, err := c.Send(context.Background(), &client.Message{To: client.To("mira@example.net"), Subject: "Hello", Text: "Hello"})
	var refused *client.Error
	switch {
	case errors.Is(err, client.ErrQuotaExceeded) && errors.As(err, &refused):
		fmt.Printf("%d of %d recipients used, come back in %v\n", refused.Usage.Used, refused.Usage.Limit, refused.RetryAfter)
	case errors.Is(err, client.ErrBadInput) && errors.As(err, &refused):
		for _, f := range refused.Fields {
			fmt.Println(f.Field, f.Message)
		}
	case err != nil:
		fmt.Println("repeat it under", client.KeyOf(err), "since:", err)
	}
	// Output: 1000 of 1000 recipients used, come back in 1h30m0s
}

func ExampleClient_Deliveries() {
	c, done := exampleClient(map[string]http.HandlerFunc{
		"GET /v1/deliveries": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("cursor") == "" {
				answer(w, 200, `{"items":[{"address":"mira@example.net","status":"failed","reason":"rejected_recipient"}],"next":"c"}`)
				return
			}
			answer(w, 200, `{"items":[{"address":"olaf@example.net","status":"failed","reason":"expired"}]}`)
		},
	})
	defer done()

	for d, err := range c.Deliveries(context.Background(), client.DeliveryFilter{
		Statuses: []postledger.Status{postledger.StatusFailed},
		Since:    time.Now().Add(-24 * time.Hour),
	}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(d.Address, d.Reason)
	}
	// Output:
	// mira@example.net rejected_recipient
	// olaf@example.net expired
}

func ExampleBatchSender() {
	b := &books{}
	c, done := exampleClient(map[string]http.HandlerFunc{"POST /v1/batches": b.serve})
	defer done()

	sender, err := c.NewBatchSender(client.BatchOptions{Name: "reminder-2026-03", Size: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	// A source such as a database's rows: it may be larger than memory.
	customers := strings.Fields("mira@example.net olaf@example.net jo@example.net")
	messages := func(yield func(*client.Message, error) bool) {
		for _, address := range customers {
			if !yield(&client.Message{To: client.To(address), Subject: "A reminder", Text: "…"}, nil) {
				return
			}
		}
	}
	for sent, err := range sender.Send(context.Background(), messages) {
		if err != nil {
			// Nothing before it is sent again, wherever the next run begins.
			fmt.Println("go on from", sender.Next(), err)
			return
		}
		fmt.Println(sent.N, sent.Key)
	}
	// Output:
	// 0 reminder-2026-03/0
	// 1 reminder-2026-03/1
	// 2 reminder-2026-03/2
}
