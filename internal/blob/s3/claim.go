package s3

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/postledger/postledger/internal/blob"
)

const (
	// claimName cannot be a blob's key.
	claimName = ".ledger"
	// maxOwner bounds what is read of a claim.
	maxOwner = 128
)

// ClaimedError says that a place is another's: blobs that one owner does not
// know of may be the other's.
type ClaimedError struct{ Owner string }

func (e *ClaimedError) Error() string {
	return fmt.Sprintf("the bucket and prefix belong to the ledger %q: give this one another prefix, or delete the object %s there if that ledger is gone for good", e.Owner, claimName)
}

// Claim makes the place this owner's if it is nobody's, and fails with a
// [ClaimedError] if it is another's. Of several that come at once the store lets
// one write the claim.
func (s *Store) Claim(ctx context.Context, owner string) error {
	w := write{store: s, name: s.prefix + claimName, writer: rand.Text()}
	// Twice: the claim that was in the way may have been deleted meanwhile.
	for range 2 {
		theirs, err := s.Owner(ctx)
		switch {
		case err != nil:
			return err
		case theirs == owner:
			return nil
		case theirs != "":
			return &ClaimedError{theirs}
		}
		if err := w.whole(ctx, []byte(owner+"\n")); !errors.Is(err, blob.ErrExists) {
			if err != nil {
				return fmt.Errorf("claim attachment store: %w", err)
			}
			return nil
		}
	}
	return errors.New("claim attachment store: the claim comes and goes")
}

// Owner is whose place it is, or "" if it is nobody's yet.
func (s *Store) Owner(ctx context.Context) (string, error) {
	owner, err := s.readClaim(ctx)
	if code(err) == minio.NoSuchKey {
		// It was not there, and a listing showed it: somebody has just written it.
		owner, err = s.readClaim(ctx)
	}
	if errors.Is(err, blob.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the attachment store's claim: %w", err)
	}
	return owner, nil
}

func (s *Store) readClaim(ctx context.Context) (string, error) {
	r := &reader{ctx: ctx, store: s, name: s.prefix + claimName}
	err := r.open()
	if code(err) == minio.NoSuchKey {
		err = s.missing(ctx, r.name, err)
	}
	if err != nil {
		return "", err
	}
	defer r.drop()
	text, err := io.ReadAll(io.LimitReader(r, maxOwner))
	if err != nil {
		return "", err
	}
	owner := strings.TrimSpace(string(text))
	if owner == "" {
		return "", fmt.Errorf("%s%s is empty: delete it", s.prefix, claimName)
	}
	return owner, nil
}
