package catalogue

import (
	"strings"
	"unicode"
)

// secretParts are words that, as one whole part of a column's name, say that it
// holds something nobody should mail. Two parts that belong together are joined.
var secretParts = map[string]bool{
	"password": true, "passwd": true, "pwd": true, "passphrase": true, "passcode": true, "pin": true,
	"secret": true, "secrets": true, "token": true, "tokens": true, "hash": true, "hashed": true, "digest": true,
	"salt": true, "otp": true, "totp": true, "mfa": true, "nonce": true, "credential": true, "credentials": true,
	"encrypted": true, "ciphertext": true, "cookie": true, "csrf": true, "jwt": true, "signature": true,
	"ssn": true, "iban": true, "cvv": true, "cvc": true, "pan": true,
	"apikey": true, "privatekey": true, "secretkey": true, "accesskey": true, "encryptionkey": true, "signingkey": true,
	"socialsecurity": true, "cardnumber": true, "creditcard": true, "recoverycode": true, "recoverycodes": true,
	"backupcode": true, "backupcodes": true, "sessionid": true, "sessionkey": true, "taxid": true, "accountnumber": true,
}

// Secret tells whether a column's name looks like that of a secret, and by which
// word. Only whole parts count: "compassion" holds no "pass".
func Secret(column string) (word string, secret bool) {
	parts := nameParts(column)
	for i, part := range parts {
		if secretParts[part] {
			return part, true
		}
		if i > 0 && secretParts[parts[i-1]+part] {
			return parts[i-1] + part, true
		}
	}
	return "", false
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
