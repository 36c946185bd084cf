package doctor

import (
	"context"
	"net"
	"net/url"
	"slices"
	"time"

	"github.com/postledger/postledger/internal/blob/s3"
	"github.com/postledger/postledger/internal/ledger"
)

// bucketTimeout bounds what is tried of a bucket, all together.
const bucketTimeout = 30 * time.Second

// bucket tries on objects of its own all that a server asks of a store.
func (x *examination) bucket(ctx context.Context, what string) {
	place, err := x.config.S3Store()
	if err != nil {
		x.bad(what, "%v", err)
		return
	}
	store, err := s3.Open(place)
	if err != nil {
		x.bad(what, "%v", err)
		return
	}
	defer store.Close() // nothing is open
	ctx, cancel := context.WithTimeout(ctx, bucketTimeout)
	defer cancel()
	if err := store.Probe(ctx); err != nil {
		x.bad(what, "%v", err)
		return
	}
	x.good(what, "can be written once, read, listed and deleted")
	if inClear(x.config.S3.Endpoint) {
		x.warn(what+", TLS", "attachments go to %s in clear text", x.config.S3.Endpoint)
	}
}

// inClear knows an endpoint without TLS that is not this machine's.
func inClear(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// owner looks whose the bucket is. It claims nothing: a server does, at its start.
func (x *examination) owner(ctx context.Context, l *ledger.Ledger) {
	if !x.config.BlobsInS3() {
		return
	}
	place, err := x.config.S3Store()
	if err != nil {
		return // bucket has said it
	}
	store, err := s3.Open(place)
	if err != nil {
		return
	}
	defer store.Close() // nothing is open
	ctx, cancel := context.WithTimeout(ctx, bucketTimeout)
	defer cancel()
	what := "attachments " + x.config.Blobs + ", owner"
	id, err := l.LedgerID(ctx)
	if err != nil {
		x.bad(what, "%v", err)
		return
	}
	switch owner, err := store.Owner(ctx); {
	case err != nil:
		x.bad(what, "%v", err)
	case owner == "":
		x.good(what, "is nobody's yet; the first start claims it for this ledger")
	case owner == id.String():
		x.good(what, "is this ledger")
	default:
		x.bad(what, "%v", &s3.ClaimedError{Owner: owner})
	}
}

// shared looks for the trap of a directory that not every process sees: what
// one accepted, another could not send. Whether the directory is on a file
// system that the machines share is not to be seen from one of them.
func (x *examination) shared(ctx context.Context, l *ledger.Ledger) {
	if x.config.Database.Embedded() || x.config.BlobsInS3() {
		return
	}
	const what = "attachments of several machines"
	workers, err := l.Workers(ctx)
	if err != nil {
		x.bad(what, "%v", err)
		return
	}
	now, err := l.Now(ctx)
	if err != nil {
		x.bad(what, "%v", err)
		return
	}
	var hosts []string
	for _, w := range workers {
		if now.Sub(w.BeatAt) < x.config.Timings.LostAfter && !slices.Contains(hosts, w.Host) {
			hosts = append(hosts, w.Host)
		}
	}
	if len(hosts) < 2 {
		x.good(what, "one machine at most serves this ledger now")
		return
	}
	slices.Sort(hosts)
	x.warn(what, "the machines %v share this ledger, and attachments are in a directory: unless it is on a file system that all of them see, one cannot send what another accepted (use blobs: %sBUCKET/PREFIX)", hosts, s3.Scheme)
}
