package s3_test

import (
	"testing"

	"github.com/postledger/postledger/internal/blob"
	"github.com/postledger/postledger/internal/blob/blobtest"
	"github.com/postledger/postledger/internal/blob/s3"
	"github.com/postledger/postledger/internal/testserver"
)

// config is a store below a prefix of the server's bucket.
func config(server *testserver.S3Server) s3.Config {
	return s3.Config{
		Endpoint: server.URL, Region: "us-east-1", Bucket: testserver.S3Bucket, Prefix: "mail/",
		AccessKey: testserver.S3AccessKey, SecretKey: testserver.S3SecretKey, Memory: 4 * s3.MinMemory,
	}
}

func open(t *testing.T, c s3.Config) *s3.Store {
	t.Helper()
	s, err := s3.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blob.Store { return open(t, config(testserver.S3(t))) })
}

// The names of others in the bucket are no blobs, wherever they sort.
func TestConformanceWithoutPrefix(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blob.Store {
		server := testserver.S3(t)
		for _, name := range []string{"README", "a/m/00", "a/m/.0", "zz/x/y/z", ".check"} {
			server.Put(t, name, "not ours")
		}
		c := config(server)
		c.Prefix = ""
		return open(t, c)
	})
}
