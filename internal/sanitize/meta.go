package sanitize

import "strings"

// metaAttributes are allowed on meta in addition; what they may say is decided
// by displayMeta.
var metaAttributes = map[string]bool{"charset": true, "content": true, "http-equiv": true}

// displayMeta reports whether a meta element only says how to display the
// mail. Anything that could navigate (refresh), set policy or change the
// charset away from the one the mail is sent in goes.
func (t *tagAttr) displayMeta() bool {
	charset, equiv, content := t.get("charset"), t.get("http-equiv"), t.get("content")
	if charset != "" && charset != "utf-8" && charset != "utf8" {
		return false
	}
	switch equiv {
	case "content-type":
		return strings.ReplaceAll(strings.TrimSuffix(content, ";"), " ", "") == "text/html;charset=utf-8"
	case "x-ua-compatible":
		return content == "ie=edge"
	case "":
	default:
		return false
	}
	switch t.get("name") {
	case "":
		return charset != ""
	case "viewport", "color-scheme", "supported-color-schemes", "format-detection",
		"x-apple-disable-message-reformatting", "description", "author", "generator", "robots", "progid", "originator":
		return true
	}
	return false
}
