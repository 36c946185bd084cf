package mime

import "strings"

// maxMessageID keeps the field on one line: software exists that does not find
// a Message-ID on the second.
const maxMessageID = 512

// CheckMessageID refuses an id that is not dot-atom "@" domain, with or without
// its angle brackets (RFC 5322 §3.6.4). Large receivers refuse the whole message
// when its id has an empty side, so it is never passed on.
func CheckMessageID(id string) error {
	const field = "message_id"
	if err := checkText(field, id); err != nil {
		return err
	}
	id = bareMessageID(id)
	left, right, ok := strings.Cut(id, "@")
	switch {
	case len(id) > maxMessageID:
		return refuse(field, "is longer than 512 octets")
	case !ok:
		return refuse(field, "has no @")
	case !isDotAtom(left, false):
		return refuse(field, "has a left side that is not a dot-atom")
	case !isDotAtom(right, false) && !isLiteral(right):
		return refuse(field, "has a right side that is not a domain")
	}
	return nil
}

func bareMessageID(id string) string {
	if len(id) >= 2 && id[0] == '<' && id[len(id)-1] == '>' {
		return id[1 : len(id)-1]
	}
	return id
}
