package transporttest

import "bytes"

// maxTextLine is RFC 5321 §4.5.3.1.6 without the CRLF.
const maxTextLine = 998

// readBody reads up to CRLF "." CRLF, takes off stuffed dots, and notes what
// must never be sent (RFC 5321 §2.3.8).
func (s *session) readBody() ([]byte, error) {
	var data []byte
	for {
		line, err := s.r.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		text, crlf := bytes.CutSuffix(line, []byte("\r\n"))
		if !crlf || bytes.ContainsAny(text, "\r") {
			s.hop.fault("bare CR or LF in the message, line %.40q", line)
		}
		if len(text) > maxTextLine+1 || len(text) > maxTextLine && text[0] != '.' {
			s.hop.fault("line of %d bytes in the message", len(text))
		}
		if crlf && len(text) == 1 && text[0] == '.' {
			if s.r.Buffered() > 0 {
				s.hop.fault("bytes after the final dot")
			}
			return data, nil
		}
		if len(text) > 0 && text[0] == '.' {
			line = line[1:]
		}
		data = append(data, line...)
	}
}
