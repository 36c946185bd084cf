package transporttest

import (
	"encoding/base64"
	"strings"
)

// auth makes a login (RFC 4954).
func (s *session) auth(line, arg string) error {
	if !s.encrypted() {
		s.hop.fault("AUTH in clear text")
		return s.reply("538 5.7.11 encryption required")
	}
	mechanism, initial, _ := strings.Cut(arg, " ")
	var user, password string
	ok := true
	switch strings.ToUpper(mechanism) {
	case "PLAIN":
		parts := strings.Split(decode(initial), "\x00")
		if ok = len(parts) == 3; ok {
			user, password = parts[1], parts[2]
		}
	case "LOGIN":
		user, ok = s.ask("VXNlcm5hbWU6")
		if ok {
			password, ok = s.ask("UGFzc3dvcmQ6")
		}
	case "XOAUTH2":
		fields := strings.Split(decode(initial), "\x01")
		if ok = len(fields) == 4; ok {
			user = strings.TrimPrefix(fields[0], "user=")
			password = strings.TrimPrefix(fields[1], "auth=Bearer ")
		}
		if want, known := s.hop.cfg.Logins[user]; !known || want != password {
			_, ok = s.ask(base64.StdEncoding.EncodeToString([]byte(`{"status":"401"}`)))
		}
	default:
		return s.reply("504 5.5.4 unknown mechanism")
	}
	if !ok {
		return s.reply("501 5.5.2 malformed login")
	}
	want, known := s.hop.cfg.Logins[user]
	if !known || want != password {
		return s.act(StepAuth, line, "", "535 5.7.8 wrong user name or password")
	}
	return s.actThen(StepAuth, line, "", "235 2.7.0 welcome", func() { s.loggedIn = true })
}

// ask sends a challenge and returns the decoded answer.
func (s *session) ask(challenge string) (string, bool) {
	if s.reply("334 "+challenge) != nil || s.w.Flush() != nil {
		return "", false
	}
	line, err := s.r.ReadString('\n')
	return decode(strings.TrimRight(line, "\r\n")), err == nil
}

func decode(b64 string) string {
	b, err := base64.StdEncoding.DecodeString(b64)
	if err != nil {
		return ""
	}
	return string(b)
}
