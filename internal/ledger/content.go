package ledger

import (
	"encoding/json"
	"fmt"

	"github.com/postledger/postledger"
)

// contentColumns is a content as its row stores it: lists as JSON, empty ones as
// "". With a shared body it has none of its own.
type contentColumns struct {
	text, html, headers, fromName, replyTo, attachments string
	shared                                              postledger.ID
}

func encodeContent(c *postledger.Content) (contentColumns, error) {
	out := contentColumns{text: c.Text, html: c.HTML, fromName: c.FromName}
	var err error
	if out.headers, err = jsonText(c.Headers); err != nil {
		return out, fmt.Errorf("encode headers: %w", err)
	}
	if out.replyTo, err = jsonText(c.ReplyTo); err != nil {
		return out, fmt.Errorf("encode reply-to: %w", err)
	}
	if out.attachments, err = jsonText(c.Attachments); err != nil {
		return out, fmt.Errorf("encode attachments: %w", err)
	}
	return out, nil
}

func (c contentColumns) decode() (postledger.Content, error) {
	out := postledger.Content{Text: c.text, HTML: c.html, FromName: c.fromName}
	if c.headers == "" && c.replyTo == "" && c.attachments == "" {
		return out, nil // most have none
	}
	for _, f := range []struct {
		name, text string
		into       any
	}{{"headers", c.headers, &out.Headers}, {"reply-to", c.replyTo, &out.ReplyTo}, {"attachments", c.attachments, &out.Attachments}} {
		if f.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(f.text), f.into); err != nil {
			return out, fmt.Errorf("decode %s: %w", f.name, err)
		}
	}
	return out, nil
}
