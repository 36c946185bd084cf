package s3

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/minio/minio-go/v7"

	"github.com/postledger/postledger/internal/blob"
)

// fault gives a store's error its name and takes URLs out of it.
func fault(err error) error {
	var answer minio.ErrorResponse
	if errors.As(err, &answer) {
		named := fmt.Errorf("%s: %w", answer.Code, err)
		if isFull(&answer) {
			return fmt.Errorf("%w: %w", blob.ErrFull, named)
		}
		return named
	}
	var inURL *url.Error
	if errors.As(err, &inURL) {
		return inURL.Err
	}
	return err
}

// isFull knows how stores say that there is no space: the status (RFC 4918
// §11.5), and the codes of Amazon's own, MinIO and Ceph.
func isFull(answer *minio.ErrorResponse) bool {
	switch answer.Code {
	case "InsufficientCapacity", "QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded":
		return true
	}
	return answer.StatusCode == http.StatusInsufficientStorage
}

// code is what the store answered, or "".
func code(err error) string {
	var answer minio.ErrorResponse
	if errors.As(err, &answer) {
		return answer.Code
	}
	return ""
}

// taken: the name has an object already, or somebody writes it right now.
func taken(err error) bool {
	c := code(err)
	return c == minio.PreconditionFailed || c == "ConditionalRequestConflict"
}
