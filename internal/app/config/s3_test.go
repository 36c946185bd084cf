package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/app/config"
)

const bucket = "blobs: s3://attachments/mail\n"

func TestBucketFaults(t *testing.T) {
	for name, tt := range map[string]struct{ file, want string }{
		"another scheme":             {"blobs: gs://S3cr3t@attachments", "blobs: must be a directory or s3://BUCKET/PREFIX"},
		"a slash too few":            {"blobs: s3:/attachments", "blobs: must begin with s3://"},
		"credentials in the place":   {"blobs: s3://key:S3cr3t@attachments", "blobs: must not hold credentials"},
		"no bucket":                  {"blobs: s3://", "blobs: must name a bucket"},
		"no region on Amazon":        {bucket, "s3.region: must be set"},
		"a host for an endpoint":     {bucket + "s3: {endpoint: 'minio:9000'}", "s3.endpoint: must be a URL"},
		"credentials in an endpoint": {bucket + "s3: {endpoint: 'https://key:S3cr3t@minio'}", "s3.endpoint: must not hold credentials"},
		"little memory":              {bucket + "s3: {region: x, upload_memory: 1MiB}", "s3.upload_memory: is 1MiB, and must be at least 5MiB"},
		"a bucket's key, misspelt":   {bucket + "s3: {regoin: x}", "did you mean s3.region?"},
		"a text for the group":       {bucket + "s3: x", "s3: must be a group of keys"},
		"a bucket's keys alone":      {"s3: {secret_key: S3cr3t}", "s3: is set, and blobs is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Load(write(t, "c.yaml", tt.file), nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "S3cr3t") {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestCredentialsOfABucket(t *testing.T) {
	const secret, other = "S3cr3tKey", "0therS3cr3t"
	aws := []string{"AWS_ACCESS_KEY_ID=AKENV", "AWS_SECRET_ACCESS_KEY=" + other, "AWS_SESSION_TOKEN=t0ken"}
	file := write(t, "secret", secret+"\n")
	for name, tt := range map[string]struct {
		s3   string
		env  []string
		want string // access key, secret key and token; or the fault
	}{
		"texts":                  {"access_key: AK, secret_key: " + secret, nil, "AK " + secret + " "},
		"a file":                 {"access_key: AK, secret_key: 'file:" + file + "'", nil, "AK " + secret + " "},
		"the environment":        {"", aws, "AKENV " + other + " t0ken"},
		"never half of each":     {"access_key: AK", aws, "s3.secret_key: is not set"},
		"the file stands over":   {"access_key: AK, secret_key: " + secret, aws, "AK " + secret + " "},
		"our variables as well":  {"", append([]string{"POSTLEDGER_S3__ACCESS_KEY=AK2", "POSTLEDGER_S3__SECRET_KEY=" + secret}, aws...), "AK2 " + secret + " "},
		"none":                   {"", nil, "s3.access_key: is not set, and neither is AWS_ACCESS_KEY_ID"},
		"a file that is missing": {"access_key: AK, secret_key: file:/nowhere/key", nil, "s3.secret_key: cannot be read"},
		"no certificate":         {"access_key: AK, secret_key: x, ca_file: '" + file + "'", nil, "s3.ca_file: holds no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			s3 := "s3: {region: eu-central-1"
			if tt.s3 != "" {
				s3 += ", " + tt.s3
			}
			c, err := config.Load(write(t, "c.yaml", bucket+s3+"}"), tt.env)
			if err != nil {
				t.Fatal(err)
			}
			place, err := c.S3Store()
			got := place.AccessKey + " " + place.SecretKey + " " + place.SessionToken
			if err != nil {
				got = err.Error()
			} else if place.Bucket != "attachments" || place.Prefix != "mail/" || place.Region != "eu-central-1" {
				t.Errorf("place %v", place)
			}
			if !strings.HasPrefix(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
			shown, showErr := c.Show()
			if text := shown + fmt.Sprintf("%v %+v %#v %v", c, c, c, err); showErr != nil || strings.Contains(text, secret) || strings.Contains(text, other) || strings.Contains(text, "t0ken") {
				t.Errorf("a secret is shown: %s", text)
			}
			if !strings.Contains(shown, "blobs: s3://attachments/mail") {
				t.Errorf("does not show where: %s", shown)
			}
		})
	}
}
