package accept_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
)

// A key stands for its request over years and versions: the fingerprint is the
// one that encoding/json's form of the request has, whatever the request holds.
func TestFingerprintIsTheRequests(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.Just("<p class=\"a\">\n\tBjørn & \u2028 </p>"))
	recipients := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) accept.Recipient {
		return accept.Recipient{Address: rapid.String().Draw(t, "address"), Name: text.Draw(t, "name")}
	}), 0, 3)
	moment := rapid.Custom(func(t *rapid.T) time.Time {
		zone := time.FixedZone("", rapid.IntRange(-12, 14).Draw(t, "zone")*3600)
		return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).In(zone)
	})
	moments := rapid.OneOf(rapid.Just(time.Time{}), moment)
	rapid.Check(t, func(t *rapid.T) {
		r := &accept.Request{
			Profile: text.Draw(t, "profile"), To: recipients.Draw(t, "to"), Cc: recipients.Draw(t, "cc"), Bcc: recipients.Draw(t, "bcc"),
			Subject: text.Draw(t, "subject"), Text: text.Draw(t, "text"), HTML: text.Draw(t, "html"), FromName: text.Draw(t, "from_name"),
			Lane:     rapid.SampledFrom([]postledger.Lane{"", postledger.LaneImmediate, postledger.LaneBulk}).Draw(t, "lane"),
			Category: rapid.SampledFrom([]postledger.Category{"", postledger.CategorySystem, postledger.CategoryActivity}).Draw(t, "category"),
			Ref:      accept.Ref{Scope: text.Draw(t, "scope"), ID: text.Draw(t, "ref")},
			Tenant:   text.Draw(t, "tenant"), Locale: text.Draw(t, "locale"),
			Actor:     postledger.Actor{Type: text.Draw(t, "actor"), ID: text.Draw(t, "id"), Name: text.Draw(t, "name")},
			SendAt:    moments.Draw(t, "send_at"),
			MessageID: text.Draw(t, "message_id"), Key: text.Draw(t, "key"),
		}
		switch rapid.IntRange(0, 2).Draw(t, "deadline") {
		case 1:
			r.Deadline.At = moment.Draw(t, "at")
		case 2:
			r.Deadline.After = time.Duration(rapid.Int64Range(1, 1e6).Draw(t, "after")) * time.Second
		}
		for range rapid.IntRange(0, 2).Draw(t, "headers") {
			r.Headers = append(r.Headers, postledger.Header{Name: text.Draw(t, "name"), Value: text.Draw(t, "value")})
			r.ReplyTo = append(r.ReplyTo, postledger.Mailbox{Name: text.Draw(t, "name"), Address: text.Draw(t, "address")})
		}
		if rapid.Bool().Draw(t, "file") {
			r.Attachments = []accept.Attachment{{Name: text.Draw(t, "file"), Data: []byte(text.Draw(t, "data"))}, {SHA256: strings.Repeat("AB", 32)}}
		}
		want, err := accept.EncodedFingerprint(r)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := accept.Fingerprint(r); err != nil || got != want {
			t.Fatalf("%+v has %s, %v; want %s", r, got, err, want)
		}
	})
}

// No member of a request may be left out of its fingerprint but the key.
func TestFingerprintHasEveryMember(t *testing.T) {
	t.Parallel()
	plain := func() *accept.Request { return &accept.Request{Text: "x"} }
	was, err := accept.Fingerprint(plain())
	if err != nil {
		t.Fatal(err)
	}
	for i := range reflect.TypeFor[accept.Request]().NumField() {
		r := plain()
		f := reflect.ValueOf(r).Elem().Field(i)
		name := reflect.TypeFor[accept.Request]().Field(i).Name
		switch v := f.Addr().Interface().(type) {
		case *time.Time:
			*v = time.Unix(1, 0)
		case *accept.Deadline:
			v.After = time.Second
		case *postledger.Lane:
			*v = postledger.LaneBulk
		default:
			switch f.Kind() {
			case reflect.String:
				f.SetString("other")
			case reflect.Slice:
				f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			case reflect.Struct:
				f.Field(0).SetString("other")
			default:
				t.Fatalf("a member of kind %s: say how it is changed", f.Kind())
			}
		}
		got, err := accept.Fingerprint(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if (got == was) != (name == "Key") {
			t.Errorf("%s: %s, and %s without it", name, got, was)
		}
	}
}
