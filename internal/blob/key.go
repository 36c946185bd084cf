package blob

import (
	"strconv"
	"strings"
)

const (
	maxSegment = 64
	maxNumber  = 9999
)

// Key returns the key of a message's n-th attachment: app/message/n. The ids
// are of lower-case letters, digits, "-" and "_", start with a letter or digit
// and have at most 64 bytes, so that no store and no file system takes two
// keys for one or gives a segment a meaning of its own.
func Key(app, message string, n int) (string, error) {
	if !isID(app) || !isID(message) || n < 0 || n > maxNumber {
		return "", ErrKey
	}
	return app + "/" + message + "/" + strconv.Itoa(n), nil
}

// SplitKey takes a key apart. It fails with ErrKey if Key would not have made
// it.
func SplitKey(key string) (app, message string, n int, err error) {
	app, rest, _ := strings.Cut(key, "/")
	message, number, _ := strings.Cut(rest, "/")
	n, convErr := strconv.Atoi(number)
	if convErr != nil {
		return "", "", 0, ErrKey
	}
	if again, err := Key(app, message, n); err != nil || again != key {
		return "", "", 0, ErrKey
	}
	return app, message, n, nil
}

// SplitPrefix takes the prefix of a listing apart: "", "app/" or "app/message/".
func SplitPrefix(prefix string) (app, message string, err error) {
	if prefix == "" {
		return "", "", nil
	}
	app, rest, ok := strings.Cut(prefix, "/")
	if !ok || !isID(app) {
		return "", "", ErrKey
	}
	if rest == "" {
		return app, "", nil
	}
	message, rest, ok = strings.Cut(rest, "/")
	if !ok || rest != "" || !isID(message) {
		return "", "", ErrKey
	}
	return app, message, nil
}

func isID(s string) bool {
	if s == "" || len(s) > maxSegment || s[0] == '-' || s[0] == '_' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
