package accept

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/blob"
	"github.com/postledger/postledger/internal/ledger"
)

// removeTimeout bounds the clean-up after a refusal; what it leaves is found by
// recovery as an orphan.
const removeTimeout = 10 * time.Second

func attachmentLimit(e *ledger.Effective) int64 {
	if n := e.Profile.Config.MaxAttachmentBytes; n > 0 {
		return n
	}
	return DefaultAttachmentBytes
}

// upload stores the draft's attachments under keys of its own message, and
// removes them again when one of them fails. It begins only when quota, ledger
// and storage would take the request: a refusal should not cost an upload.
func (s *Service) upload(ctx context.Context, d *draft, e *ledger.Effective) error {
	if len(d.req.Attachments) == 0 {
		return nil
	}
	limit := attachmentLimit(e)
	if err := d.checkDeclaredSizes(limit); err != nil {
		return err
	}
	if err := s.Ledger.CheckQuota(ctx, d.app, e.Profile.ID, e.Quota, int64(len(d.rcpts))); err != nil {
		return refuse(err)
	}
	if err := s.Blobs.Check(ctx); err != nil {
		return storage(err)
	}
	left := limit
	for i := range d.req.Attachments {
		f, err := s.store(ctx, d, i, left, limit)
		// Also a failed one: something of it may be stored.
		d.files = append(d.files, f)
		if err != nil {
			s.removeFiles(ctx, d)
			return err
		}
		left -= f.Size
	}
	return nil
}

func (d *draft) checkDeclaredSizes(limit int64) error {
	left := limit
	for i := range d.req.Attachments {
		// Compared this way round, sums of declared sizes cannot overflow.
		if n := d.req.Attachments[i].declaredSize(); n > left {
			return &TooLargeError{Field: d.path + at("attachments", i), Limit: limit}
		} else {
			left -= n
		}
	}
	return nil
}

// checkStored checks what is stored against a limit that changed meanwhile.
func (d *draft) checkStored(limit int64) error {
	left := limit
	for i, f := range d.files {
		if left -= f.Size; left < 0 {
			return &TooLargeError{Field: d.path + at("attachments", i), Limit: limit}
		}
	}
	return nil
}

// store streams one attachment into the blob store.
func (s *Service) store(ctx context.Context, d *draft, i int, left, limit int64) (postledger.Attachment, error) {
	a := &d.req.Attachments[i]
	field := d.path + at("attachments", i)
	f := a.meta()
	if a.declaredSize() > left {
		return f, &TooLargeError{Field: field, Limit: limit}
	}
	var err error
	if f.Blob, err = blob.Key(d.app.String(), d.id.String(), i); err != nil {
		return f, storage(err)
	}
	content, err := a.open()
	if err != nil {
		return f, unreadable(field, err)
	}
	src := &source{r: content}
	info, err := s.Blobs.Put(ctx, f.Blob, src, left)
	closeErr := content.Close()
	switch {
	case errors.Is(err, blob.ErrTooLarge):
		return f, &TooLargeError{Field: field, Limit: limit}
	case err != nil && src.err != nil:
		return f, unreadable(field, src.err)
	case err != nil:
		return f, storage(err)
	case closeErr != nil:
		return f, unreadable(field, closeErr)
	}
	f.Size, f.SHA256 = info.Size, hex.EncodeToString(info.SHA256[:])
	switch {
	case a.Size != nil && *a.Size != f.Size:
		return f, invalid(field+".size", RuleMismatch, "is not the size of the content")
	case a.SHA256 != "" && strings.ToLower(a.SHA256) != f.SHA256:
		return f, invalid(field+".sha256", RuleMismatch, "is not the SHA-256 of the content")
	}
	return f, nil
}

func (a *Attachment) open() (io.ReadCloser, error) {
	if a.Open != nil {
		return a.Open()
	}
	return io.NopCloser(bytes.NewReader(a.Data)), nil
}

// unreadable: the caller's stream broke, which is for the caller to repeat; a
// resend's own source says so itself.
func unreadable(field string, err error) error {
	if CodeOf(err) != "" {
		return err
	}
	return invalid(field+".content", RuleMismatch, "could not be read to its end")
}

// storage is a failure of the blob store.
func storage(err error) error {
	if errors.Is(err, blob.ErrFull) {
		return ErrStorageFull
	}
	return &UnavailableError{Err: fmt.Errorf("store attachment: %w", err)}
}

// removeFiles removes what was stored for a draft that has become no message.
// The request's context may have ended, and the clean-up must not end with it.
func (s *Service) removeFiles(ctx context.Context, d *draft) {
	if len(d.files) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	for _, f := range d.files {
		if err := s.Blobs.Delete(ctx, f.Blob); err != nil {
			s.Log.Warn("an attachment without a message stays until recovery finds it",
				slog.String("blob", f.Blob), slog.String("error", err.Error()))
		}
	}
	d.files = nil
}

// source remembers whether it was the caller's stream that failed.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
