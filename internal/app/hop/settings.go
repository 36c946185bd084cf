package hop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/postledger/postledger/internal/transport/smtp"
)

// The kinds of transport.
const (
	SMTP    = "smtp"
	Sandbox = "sandbox"
)

// FieldError names the field of a profile that breaks a rule.
type FieldError struct{ Field, Rule string }

func (e *FieldError) Error() string { return e.Field + ": " + e.Rule }

// SMTPSettings are the settings of a profile whose transport is smtp. What is
// left out has the transport's default.
type SMTPSettings struct {
	Host       string             `json:"host"`
	Port       int                `json:"port"`
	TLS        smtp.TLSMode       `json:"tls"`
	ServerName string             `json:"server_name,omitempty"`
	Username   string             `json:"username,omitempty"`
	Auth       smtp.AuthMechanism `json:"auth,omitempty"`
	HelloName  string             `json:"hello_name,omitempty"`
	// CAFile holds the issuers to trust instead of the system's, in PEM.
	CAFile string `json:"ca_file,omitempty"`
	// MessagesPerConnection bounds how often a connection is used.
	MessagesPerConnection int      `json:"messages_per_connection,omitempty"`
	MaxIdle               Seconds  `json:"max_idle_seconds,omitempty"`
	MaxAge                Seconds  `json:"max_age_seconds,omitempty"`
	Timeouts              Timeouts `json:"timeouts_seconds,omitzero"`
}

// Timeouts are the limits of the phases of a transaction, in seconds.
type Timeouts struct {
	Connect  Seconds `json:"connect,omitempty"`
	Greeting Seconds `json:"greeting,omitempty"`
	Hello    Seconds `json:"hello,omitempty"`
	StartTLS Seconds `json:"starttls,omitempty"`
	Auth     Seconds `json:"auth,omitempty"`
	Mail     Seconds `json:"mail,omitempty"`
	Rcpt     Seconds `json:"rcpt,omitempty"`
	Data     Seconds `json:"data,omitempty"`
	Block    Seconds `json:"block,omitempty"`
	// Dot is how long the answer to the final dot is waited for.
	Dot Seconds `json:"dot,omitempty"`
}

// Seconds is a whole number of them.
type Seconds int64

const maxSeconds = 24 * 60 * 60

func (s Seconds) duration() time.Duration { return time.Duration(s) * time.Second }

// endpoint is what a password is bound to.
func (s *SMTPSettings) endpoint() string {
	return strings.ToLower(s.Host) + ":" + fmt.Sprint(s.Port)
}

// parseSMTP reads settings; a key that is not known is an error.
func parseSMTP(raw json.RawMessage) (*SMTPSettings, error) {
	var s SMTPSettings
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	if s.Port == 0 {
		switch s.TLS {
		case smtp.TLSImplicit:
			s.Port = 465
		case smtp.TLSRequired:
			s.Port = 587
		default:
			s.Port = 25
		}
	}
	if s.MessagesPerConnection < 0 {
		return nil, &FieldError{"settings.messages_per_connection", "must not be negative"}
	}
	for name, v := range map[string]Seconds{
		"max_idle_seconds": s.MaxIdle, "max_age_seconds": s.MaxAge, "timeouts_seconds.connect": s.Timeouts.Connect,
		"timeouts_seconds.greeting": s.Timeouts.Greeting, "timeouts_seconds.hello": s.Timeouts.Hello,
		"timeouts_seconds.starttls": s.Timeouts.StartTLS, "timeouts_seconds.auth": s.Timeouts.Auth,
		"timeouts_seconds.mail": s.Timeouts.Mail, "timeouts_seconds.rcpt": s.Timeouts.Rcpt,
		"timeouts_seconds.data": s.Timeouts.Data, "timeouts_seconds.block": s.Timeouts.Block, "timeouts_seconds.dot": s.Timeouts.Dot,
	} {
		if v < 0 || v > maxSeconds {
			return nil, &FieldError{"settings." + name, fmt.Sprintf("must be between 0 and %d", maxSeconds)}
		}
	}
	return &s, nil
}

// strict decodes one JSON object without unknown keys and with nothing after it.
func strict(raw json.RawMessage, into any) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			return &FieldError{"settings", "must be one JSON object"}
		}
		return nil
	}
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return &FieldError{"settings." + kind.Field, "must not be a " + kind.Value}
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		name := strings.Trim(strings.TrimPrefix(err.Error(), "json: unknown field "), `"`)
		return &FieldError{"settings." + name, "is no setting of this transport"}
	default:
		return &FieldError{"settings", "must be a JSON object"}
	}
}
