package catalogue

import (
	"slices"
	"strings"
	"unicode"
)

// secretParts are words that, as one whole part of a column's name, say that it
// holds something nobody should mail. Two parts that belong together are joined. Their
// plurals count as they do.
var secretParts = map[string]bool{
	"pwd": true, "pw": true, "pass": true, "pin": true, "secret": true, "token": true, "hash": true, "hashed": true, "digest": true,
	"salt": true, "otp": true, "totp": true, "mfa": true, "nonce": true, "encrypted": true, "cookie": true, "signature": true,
	"ssn": true, "iban": true, "cvv": true, "cvc": true, "pan": true, "sessionid": true, "taxid": true,
}

// secretRuns say so wherever they stand within a part: PostgreSQL folds a camelCase name
// that is not quoted to one word in lower case. No other word holds them.
var secretRuns = []string{
	"password", "passwd", "passphrase", "passcode", "credential", "ciphertext", "csrf", "jwt",
	"apikey", "authkey", "privatekey", "secretkey", "accesskey", "encryptionkey", "signingkey", "sessionkey",
	"socialsecurity", "cardnumber", "creditcard", "recoverycode", "backupcode", "accountnumber",
}

// secretEnds say so at the end of a part: a resettoken is one, and what is tokenized is
// not.
var secretEnds = []string{"token", "secret", "hash", "cookie", "pwd"}

// Secret tells whether a column's name looks like that of a secret, and by which
// word: "compassion" holds no "pass".
func Secret(column string) (word string, secret bool) {
	parts := nameParts(column)
	for i, part := range parts {
		if word := secretWord(part); word != "" {
			return word, true
		}
		if i > 0 {
			if word := secretPair(parts[i-1] + part); word != "" {
				return word, true
			}
		}
	}
	return "", false
}

// secretWord finds what a part says.
func secretWord(part string) string {
	one := singular(part)
	if secretParts[part] || secretParts[one] {
		return part
	}
	for _, run := range secretRuns {
		if strings.Contains(part, run) {
			return run
		}
	}
	for _, end := range secretEnds {
		if strings.HasSuffix(one, end) {
			return end
		}
	}
	return ""
}

// secretPair finds what two parts say together, which neither does alone: the end of one
// and the beginning of the next are no word.
func secretPair(joined string) string {
	if one := singular(joined); secretParts[one] || slices.Contains(secretRuns, one) {
		return joined
	}
	return ""
}

// singular takes the s of a plural, and the es of hashes.
func singular(word string) string {
	if one, found := strings.CutSuffix(word, "hes"); found {
		return one + "h"
	}
	return strings.TrimSuffix(word, "s")
}

// nameParts splits snake_case, kebab-case, camelCase, ACRONYMCase and numbered
// names into lower-case words.
func nameParts(name string) []string {
	var parts []string
	var part []rune
	flush := func() {
		if len(part) > 0 {
			parts = append(parts, strings.ToLower(string(part)))
		}
		part = part[:0]
	}
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) {
			flush() // a digit ends a word: password2, hash256
			continue
		}
		if unicode.IsUpper(r) && i > 0 {
			afterLower := unicode.IsLower(runes[i-1])
			// The last capital of a run begins the next word: APIToken.
			beforeLower := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if afterLower || beforeLower {
				flush()
			}
		}
		part = append(part, r)
	}
	flush()
	return parts
}
