package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"
)

const (
	// tries of one request, the first included.
	tries = 3
	// callLimit bounds a try without a body, and partLimit one with a part:
	// 5 MiB in a minute is 87 KiB/s.
	callLimit = 15 * time.Second
	partLimit = time.Minute
	// firstPause is the longest wait before the second try; before the third
	// it is twice that.
	firstPause = 250 * time.Millisecond
)

// errSlow: the store took longer than a limit. It is not the caller's context
// that ended.
var errSlow = errors.New("the store did not answer in time")

// call makes a request. An error is the caller's context's if that has ended,
// else the store's. Whoever writes knows a write that is repeated.
func call(ctx context.Context, limit time.Duration, request func(context.Context) error) error {
	for n := 1; ; n++ {
		err := try(ctx, limit, request)
		if err == nil || n == tries || ctx.Err() != nil || !transient(err) {
			return err
		}
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
}

func try(ctx context.Context, limit time.Duration, request func(context.Context) error) error {
	// The library takes a context that has ended for an empty answer.
	if err := ctx.Err(); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := request(bounded)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case bounded.Err() != nil:
		return errSlow
	default:
		return fault(err)
	}
}

// pause waits before the next try, with jitter: many uploads fail together.
func pause(ctx context.Context, tried int) error {
	longest := firstPause << (tried - 1)
	wait := time.NewTimer(longest/2 + rand.N(longest/2))
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// transient says that the same request may succeed now. What a store answered
// with a reason is final unless it is about its own state.
func transient(err error) bool {
	var answer minio.ErrorResponse
	if !errors.As(err, &answer) {
		var certificate *tls.CertificateVerificationError
		return !errors.As(err, &certificate) && !errors.Is(err, errReplaced)
	}
	switch answer.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	switch answer.Code { // with status 200 or 400, from some stores
	case "InternalError", "SlowDown", "RequestTimeout", "ConditionalRequestConflict":
		return true
	}
	return false
}
