package s3

import (
	"errors"
	"strings"
)

// Scheme starts the name of a place in a bucket.
const Scheme = "s3://"

const (
	minBucket = 3
	maxBucket = 63
	// maxPrefix leaves room for a key within the 1,024 bytes of an object's name.
	maxPrefix = 512
)

// ParsePlace takes s3://BUCKET/PREFIX apart. The prefix may be missing; it is
// returned with a slash at its end. Errors never repeat the text: somebody may
// have put credentials into it.
func ParsePlace(text string) (bucket, prefix string, err error) {
	rest, ok := strings.CutPrefix(text, Scheme)
	if !ok {
		return "", "", errors.New("must begin with " + Scheme)
	}
	bucket, prefix, _ = strings.Cut(rest, "/")
	switch {
	case strings.Contains(bucket, "@"):
		return "", "", errors.New("must not hold credentials: they are s3.access_key and s3.secret_key")
	case !isBucket(bucket):
		return "", "", errors.New("must name a bucket: 3 to 63 lower-case letters, digits, hyphens and dots")
	case strings.HasSuffix(bucket, "--x-s3"):
		return "", "", errors.New("names a directory bucket, whose listings have no order")
	}
	prefix = strings.TrimSuffix(prefix, "/")
	if prefix == "" {
		return bucket, "", nil
	}
	if !isPrefix(prefix) {
		return "", "", errors.New("has a prefix that is not of letters, digits, dots, hyphens and underscores between single slashes, at most 512 bytes, no part beginning with a dot")
	}
	return bucket, prefix + "/", nil
}

func isBucket(s string) bool {
	if len(s) < minBucket || len(s) > maxBucket {
		return false
	}
	for i := range len(s) {
		c := s[i]
		inside := i > 0 && i < len(s)-1
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case c == '-' && inside:
		case c == '.' && inside && s[i-1] != '.':
		default:
			return false
		}
	}
	return true
}

func isPrefix(s string) bool {
	if len(s) > maxPrefix {
		return false
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || part[0] == '.' {
			return false
		}
		for i := range len(part) {
			c := part[i]
			switch {
			case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
			default:
				return false
			}
		}
	}
	return true
}
