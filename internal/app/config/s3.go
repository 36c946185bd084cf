package config

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/postledger/postledger/internal/blob/s3"
	"github.com/postledger/postledger/internal/secret"
)

// S3 says how the bucket is reached that Blobs names. It stands beside a
// directory only when it is empty.
type S3 struct {
	// Endpoint is the store's URL; empty is Amazon's of the region. Its scheme
	// says whether TLS is spoken: with https it is verified.
	Endpoint string `koanf:"endpoint"`
	Region   string `koanf:"region"`
	// PathStyle puts the bucket into the path instead of the host name.
	PathStyle bool `koanf:"path_style"`
	// CAFile holds the certificates, in PEM, that are trusted instead of the
	// system's.
	CAFile string `koanf:"ca_file"`
	// The credentials are texts, or file:PATH each. Without any they are the
	// environment's AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
	// AWS_SESSION_TOKEN.
	AccessKey    secret.Value `koanf:"access_key"`
	SecretKey    secret.Value `koanf:"secret_key"`
	SessionToken secret.Value `koanf:"session_token"`
	// UploadMemory bounds the parts of uploads that one process holds.
	UploadMemory Size `koanf:"upload_memory"`
}

// defaultRegion is what stores of their own expect in a signature.
const defaultRegion = "us-east-1"

// BlobsInS3 reports whether attachments are in a bucket, not in a directory.
func (c *Config) BlobsInS3() bool { return strings.HasPrefix(c.Blobs, "s3:") }

// fromEnvironment takes the credentials that other programs know too, if the
// configuration has none of its own.
func (s *S3) fromEnvironment(environ []string) {
	if !s.AccessKey.IsZero() || !s.SecretKey.IsZero() || !s.SessionToken.IsZero() {
		return
	}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		switch name {
		case "AWS_ACCESS_KEY_ID":
			s.AccessKey = secret.NewValue(value)
		case "AWS_SECRET_ACCESS_KEY":
			s.SecretKey = secret.NewValue(value)
		case "AWS_SESSION_TOKEN":
			s.SessionToken = secret.NewValue(value)
		}
	}
}

func (c *Config) checkBlobs(fault func(bool, string, string, ...any)) {
	if !c.BlobsInS3() {
		// What it says is not repeated: it may hold a password.
		fault(strings.Contains(c.Blobs, "://"), "blobs", "must be a directory or s3://BUCKET/PREFIX")
		fault(c.S3 != Default().S3, "s3", "is set, and blobs is a directory")
		return
	}
	if _, _, err := s3.ParsePlace(c.Blobs); err != nil {
		fault(true, "blobs", "%w", err)
	}
	if c.S3.Endpoint == "" {
		fault(c.S3.Region == "", "s3.region", "must be set, or s3.endpoint for a store that is not Amazon's")
	} else if _, _, err := s3.ParseEndpoint(c.S3.Endpoint); err != nil {
		fault(true, "s3.endpoint", "%w", err)
	}
	fault(c.S3.UploadMemory < s3.MinMemory, "s3.upload_memory", "is %s, and must be at least %s", c.S3.UploadMemory, Size(s3.MinMemory))
}

// S3Store gathers what opens the bucket. It reads the files that hold secrets.
func (c *Config) S3Store() (s3.Config, error) {
	bucket, prefix, err := s3.ParsePlace(c.Blobs)
	if err != nil {
		return s3.Config{}, fmt.Errorf("blobs: %w", err)
	}
	out := s3.Config{
		Endpoint: c.S3.Endpoint, Region: c.S3.Region, Bucket: bucket, Prefix: prefix, PathStyle: c.S3.PathStyle,
		Memory: int64(c.S3.UploadMemory),
	}
	if out.Region == "" {
		out.Region = defaultRegion
	}
	for _, f := range []struct {
		key  string
		from secret.Value
		to   *string
		env  string
	}{
		{"s3.access_key", c.S3.AccessKey, &out.AccessKey, "AWS_ACCESS_KEY_ID"},
		{"s3.secret_key", c.S3.SecretKey, &out.SecretKey, "AWS_SECRET_ACCESS_KEY"},
		{"s3.session_token", c.S3.SessionToken, &out.SessionToken, ""},
	} {
		*f.to = f.from.Reveal()
		if path, ok := strings.CutPrefix(*f.to, filePrefix); ok {
			content, err := ReadSecretFile(path)
			if err != nil {
				return s3.Config{}, fmt.Errorf("%s: %w", f.key, err)
			}
			*f.to = strings.TrimSpace(content)
		}
		if *f.to == "" && f.env != "" {
			return s3.Config{}, fmt.Errorf("%s: is not set, and neither is %s", f.key, f.env)
		}
	}
	if c.S3.CAFile != "" {
		if out.Roots, err = roots(c.S3.CAFile); err != nil {
			return s3.Config{}, fmt.Errorf("s3.ca_file: %w", err)
		}
	}
	return out, nil
}

func roots(path string) (*x509.CertPool, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return nil, errors.New("holds no certificate in PEM")
	}
	return pool, nil
}
