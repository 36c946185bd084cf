// Package s3 keeps blobs as objects of one bucket of an S3-compatible store, so
// that any number of processes on any machines share them.
//
// # Layout
//
//	<prefix><app>/<message>/<n>     a blob
//	<prefix>.check/<random>         what Check writes, and removes again
//	<prefix>.ledger                 whose place it is: see [Store.Claim]
//
// Nothing but the bucket is shared, and nothing is remembered that another
// process would have to know.
//
// # What survives
//
// An object appears whole or not at all: a small blob is one PUT, a larger one
// a multipart upload that is completed by its last request. A Put that fails
// aborts its upload; what a crash leaves of one is no object and is removed by
// [Store.Sweep]. When the answer to the last request is lost, the blob may be
// there: the metadata of an object names the Put that wrote it, so that a
// repeated request recognises its own work, and whoever gives up leaves an
// orphan that List shows.
//
// # Never overwritten
//
// Every write carries If-None-Match: * (RFC 9110 §13.1.2), which S3 honours
// since 2024. A store that ignores it is found by [Store.Probe].
//
// # Bounds
//
// Every try of a request has a time limit, and there are at most three. A body
// that stands still for 30 s is given up; a reader that was cut goes on where
// it was. Memory is the parts in flight: see [Config.Memory].
package s3

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/postledger/postledger/internal/blob"
)

const (
	// dialLimit bounds the making of a connection, and of TLS on it.
	dialLimit = 5 * time.Second
	// idleConnections are kept for the next requests: a few uploads and the
	// readers of a profile's connections. More are made when needed.
	idleConnections = 32
)

// Config says where the bucket is and who we are. It holds a secret.
type Config struct {
	// Endpoint is the store's URL, such as https://s3.example.org:9000; empty
	// is Amazon's of the region.
	Endpoint string
	Region   string
	Bucket   string
	// Prefix is empty or ends with a slash; see [ParsePlace].
	Prefix string
	// PathStyle asks for the bucket in the path; otherwise it is in the host
	// name where the store is known to have that.
	PathStyle                          bool
	AccessKey, SecretKey, SessionToken string
	// Roots are trusted instead of the system's, if set.
	Roots *x509.CertPool
	// Memory bounds the parts of uploads that are held at a time, in bytes;
	// at least one part.
	Memory int64
	// Agent names the program in the requests' User-Agent.
	Agent, Version string
}

// String names the place, without the secret.
func (c Config) String() string { return "s3://" + c.Bucket + "/" + c.Prefix }

// GoString hides the secret from %#v.
func (c Config) GoString() string { return c.String() }

// Store implements [blob.Store].
type Store struct {
	core   *minio.Core
	http   *http.Transport
	bucket string
	prefix string
	parts  parts
	health health
}

var _ blob.Store = (*Store)(nil)

// Open makes a client. It does not talk to the store.
func Open(c Config) (*Store, error) {
	host, secure := "s3.amazonaws.com", true
	if c.Endpoint != "" {
		var err error
		if host, secure, err = ParseEndpoint(c.Endpoint); err != nil {
			return nil, fmt.Errorf("endpoint: %w", err)
		}
	}
	if c.AccessKey == "" || c.SecretKey == "" {
		return nil, errors.New("there are no credentials for the attachment store")
	}
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialLimit, KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.Roots},
		TLSHandshakeTimeout: dialLimit,
		IdleConnTimeout:     time.Minute,
		MaxIdleConnsPerHost: idleConnections,
		// Objects are stored as they are; a store must not be asked to pack
		// them, or sizes would not be what they seem.
		DisableCompression: true,
	}
	lookup := minio.BucketLookupAuto
	if c.PathStyle {
		lookup = minio.BucketLookupPath
	}
	core, err := minio.NewCore(host, &minio.Options{
		Creds:  credentials.NewStaticV4(c.AccessKey, c.SecretKey, c.SessionToken),
		Secure: secure, Transport: transport, Region: c.Region, BucketLookup: lookup,
		// We try again ourselves: the library would read one body from two tries.
		MaxRetries: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("make S3 client: %w", err)
	}
	if c.Agent != "" {
		core.SetAppInfo(c.Agent, c.Version)
	}
	return &Store{
		core: core, http: transport, bucket: c.Bucket, prefix: c.Prefix,
		parts: newParts(c.Memory), health: newHealth(),
	}, nil
}

// Close releases idle connections. No other method may be running.
func (s *Store) Close() error {
	s.http.CloseIdleConnections()
	return nil
}

// name is the object of a key.
func (s *Store) name(key string) (string, error) {
	if _, _, _, err := blob.SplitKey(key); err != nil {
		return "", err
	}
	return s.prefix + key, nil
}

// ParseEndpoint takes the URL of a store apart. Its errors never repeat it.
func ParseEndpoint(text string) (host string, secure bool, err error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "", false, errors.New("must be a URL such as https://s3.example.org or http://127.0.0.1:9000")
	case u.User != nil:
		return "", false, errors.New("must not hold credentials")
	case u.Path != "" && u.Path != "/", u.RawQuery != "", u.Fragment != "":
		return "", false, errors.New("must have no path: bucket and prefix are named by blobs")
	}
	return u.Host, u.Scheme == "https", nil
}
