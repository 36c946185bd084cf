package client

import (
	"context"
	"io"
	"time"

	"github.com/postledger/postledger"
)

// SandboxMail is one transaction that the sandbox kept instead of sending.
type SandboxMail struct {
	EnvelopeID postledger.ID `json:"envelope_id"`
	ReturnPath string        `json:"return_path"`
	Recipients []string      `json:"recipients"`
	At         time.Time     `json:"at"`
	// Size is in bytes.
	Size int64 `json:"size"`
	// Truncated: it was larger than all that may be kept, and its bytes are not
	// there.
	Truncated bool `json:"truncated"`
}

// SandboxMails lists what the sandbox kept of a message: the last messages
// only, in the memory of the process that sent them. Each use stands in the
// audit trail. Errors: ErrMessageUnknown; scope content.
func (c *Client) SandboxMails(ctx context.Context, message postledger.ID) ([]SandboxMail, error) {
	return all[SandboxMail](ctx, c, get("list sandbox mail", at("/v1/messages", message.String())+"/sandbox"))
}

// SandboxMail reads one of them: the bytes as they would have been sent. The
// caller closes it; reading fails when the connection breaks before the end.
// Each use stands in the audit trail. Errors: ErrMessageUnknown,
// ErrSandboxMailUnknown; scope content.
func (c *Client) SandboxMail(ctx context.Context, message, envelope postledger.ID) (io.ReadCloser, error) {
	cl := get("read sandbox mail", at(at("/v1/messages", message.String())+"/sandbox", envelope.String()))
	return c.stream(ctx, cl)
}
