package testserver_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/smtp"
	"net/textproto"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/testserver"
)

func TestMailpitKeepsMailAndMakesChaos(t *testing.T) {
	t.Parallel()
	smtpAddr, httpURL := testserver.Mailpit(t)
	const to = "kept@mailpit-test.example.org"
	message := []byte("From: from@example.org\r\nTo: " + to + "\r\nSubject: hello\r\n\r\nbody\r\n")
	if err := smtp.SendMail(smtpAddr, nil, "from@example.org", []string{to}, message); err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(httpURL + "/api/v1/search?query=to:" + to)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var found struct{ Messages []struct{ Subject string } }
	if err := json.NewDecoder(response.Body).Decode(&found); err != nil {
		t.Fatal(err)
	}
	if len(found.Messages) != 1 || found.Messages[0].Subject != "hello" {
		t.Errorf("found %+v, want the one message", found.Messages)
	}

	chaos(t, httpURL, `{"Recipient":{"ErrorCode":451,"Probability":100}}`)
	defer chaos(t, httpURL, `{"Recipient":{"ErrorCode":451,"Probability":0}}`)
	err = smtp.SendMail(smtpAddr, nil, "from@example.org", []string{to}, message)
	var reply *textproto.Error
	if !errors.As(err, &reply) || reply.Code != 451 {
		t.Errorf("got %v, want the 451 that was asked for", err)
	}
}

func chaos(t *testing.T, httpURL, triggers string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodPut, httpURL+"/api/v1/chaos", strings.NewReader(triggers))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("set chaos: %s", response.Status)
	}
}
