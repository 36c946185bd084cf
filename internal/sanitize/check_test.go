package sanitize_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/postledger/postledger/internal/sanitize"
)

// check holds the package's contract for one input. It looks at the output with
// a browser's parser and with none of the package's own code.
func check(in string) error {
	out, gone := sanitize.HTML(in)
	if slow, removed := sanitize.ByTokenizer(in); slow != out || removed != gone {
		return fmt.Errorf("the tokenizer alone says otherwise of %q:\n got  %q, removed %s\n want %q, removed %s", in, out, gone, slow, removed)
	}
	again, removed := sanitize.HTML(out)
	if again != out {
		return fmt.Errorf("not a fixed point:\n in    %q\n out   %q\n again %q", in, out, again)
	}
	if removed != 0 {
		return fmt.Errorf("removes %s from its own output %q of %q", removed, out, in)
	}
	if len(out) > 6*len(in)+16 {
		return fmt.Errorf("output of %d bytes for %d", len(out), len(in))
	}
	if !utf8.ValidString(out) || strings.ContainsFunc(out, func(r rune) bool {
		return r < 0x20 && r != '\t' && r != '\n' || r >= 0x7f && r < 0xa0
	}) {
		return fmt.Errorf("control characters in %q", out)
	}
	for _, view := range []string{out, outlookView(out)} {
		for _, scripting := range []bool{true, false} {
			doc, err := html.ParseWithOptions(strings.NewReader(view), html.ParseOptionEnableScripting(scripting))
			if err != nil {
				if strings.Contains(err.Error(), "open stack of elements exceeds") {
					continue // the parser's own bound on nesting
				}
				return fmt.Errorf("parse %q: %w", view, err)
			}
			if err := checkNode(doc, true); err != nil {
				return fmt.Errorf("%w\n in   %q\n out  %q\n view %q", err, in, out, view)
			}
		}
	}
	// The parser decodes character references in comments, which browsers do
	// not, so comments are looked at in their raw form.
	z := html.NewTokenizer(strings.NewReader(out))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		if kind == html.CommentToken {
			if err := checkComment(string(z.Raw())); err != nil {
				return fmt.Errorf("%w\n in   %q\n out  %q", err, in, out)
			}
		}
	}
	return nil
}

var (
	openHidden  = regexp.MustCompile(`<!--\[if [^\]]*\]>(<!-->)?`)
	closeHidden = regexp.MustCompile(`(<!--)?<!\[endif\]-->`)
	revealed    = regexp.MustCompile(`^<!(--)?\[if [A-Za-z0-9 .!()&|]+\](><!--)?>$`)
	hidden      = regexp.MustCompile(`(?s)^<!--\[if [A-Za-z0-9 .!()&|]+\]>(.*)<!\[endif\]-->$`)
)

// outlookView is what a reader sees to whom every condition is true.
func outlookView(s string) string {
	return closeHidden.ReplaceAllString(openHidden.ReplaceAllString(s, ""), "")
}

var badElement = map[string]bool{
	"script": true, "iframe": true, "object": true, "embed": true, "applet": true, "svg": true, "math": true, "form": true,
	"input": true, "button": true, "select": true, "option": true, "textarea": true, "base": true, "link": true,
	"frame": true, "frameset": true, "noembed": true, "noframes": true, "xmp": true, "plaintext": true, "template": true,
	"audio": true, "video": true, "param": true, "keygen": true, "isindex": true, "marquee": true, "image": true,
}

func checkNode(n *html.Node, comments bool) error {
	switch n.Type {
	case html.ElementNode:
		if err := checkElement(n); err != nil {
			return err
		}
	case html.CommentNode:
		if !comments {
			return fmt.Errorf("comment inside a comment: %q", n.Data)
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if err := checkNode(c, comments); err != nil {
			return err
		}
	}
	return nil
}

func checkElement(n *html.Node) error {
	if n.Namespace != "" || badElement[n.Data] {
		return fmt.Errorf("element %s %s", n.Namespace, n.Data)
	}
	if n.Data == "style" && n.FirstChild != nil {
		if err := checkCSS(n.FirstChild.Data); err != nil {
			return err
		}
	}
	for _, a := range n.Attr {
		switch {
		case len(a.Key) > 2 && strings.HasPrefix(a.Key, "on"):
			return fmt.Errorf("attribute %s", a.Key)
		case a.Key == "style":
			if err := checkCSS(a.Val); err != nil {
				return err
			}
		case a.Key == "srcset":
			for part := range strings.SplitSeq(a.Val, ",") {
				if err := checkScheme(part); err != nil {
					return err
				}
			}
		case a.Key == "http-equiv":
			if v := strings.ToLower(a.Val); v != "content-type" && v != "x-ua-compatible" {
				return fmt.Errorf("http-equiv %q", a.Val)
			}
		case strings.Contains("href src background action formaction cite longdesc usemap poster data o:href o:src", a.Key):
			if err := checkScheme(a.Val); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkScheme reads a URL as browsers do.
func checkScheme(s string) error {
	s = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, strings.TrimFunc(s, func(r rune) bool { return r <= ' ' }))
	if s == "" || s[0] == '#' || strings.HasPrefix(s, "{{") || strings.HasPrefix(s, "{%") {
		return nil
	}
	scheme, _, ok := strings.Cut(s, ":")
	if ok {
		switch strings.ToLower(scheme) {
		case "http", "https", "mailto", "tel", "sms", "cid":
			return nil
		}
	}
	return fmt.Errorf("URL %q", s)
}

func checkComment(raw string) error {
	switch raw {
	case "<!--<![endif]-->", "<![endif]>", "<![endif]-->":
		return nil
	}
	if revealed.MatchString(raw) {
		return nil
	}
	m := hidden.FindStringSubmatch(raw)
	if m == nil {
		return fmt.Errorf("comment %q", raw)
	}
	inner := m[1]
	for _, scripting := range []bool{true, false} {
		doc, err := html.ParseWithOptions(strings.NewReader(inner), html.ParseOptionEnableScripting(scripting))
		if err != nil {
			return nil // nesting, as above
		}
		if err := checkNode(doc, false); err != nil {
			return err
		}
	}
	return nil
}

var (
	cssComment = regexp.MustCompile(`(?s)/\*.*?(\*/|$)`)
	cssEscape  = regexp.MustCompile(`\\([0-9a-fA-F]{1,6})[ \n\t]?|\\(.)`)
	cssURL     = regexp.MustCompile(`url\(["']?([^"')]*)`)
	cssSpace   = regexp.MustCompile(`\s+`)
)

// checkCSS looks for what must not be there in the crudest way: without any
// idea of strings or blocks.
func checkCSS(s string) error {
	if strings.Contains(strings.ToLower(s), "</style") || strings.Contains(s, "<!--") {
		return fmt.Errorf("markup in CSS %q", s)
	}
	for _, s := range []string{s, cssComment.ReplaceAllString(s, "")} {
		s = cssEscape.ReplaceAllStringFunc(s, func(e string) string {
			if v, err := strconv.ParseUint(strings.TrimSpace(e[1:]), 16, 32); err == nil {
				return string(rune(v))
			}
			return e[1:]
		})
		s = strings.ToLower(s)
		for _, m := range cssURL.FindAllStringSubmatch(s, -1) {
			if err := checkScheme(m[1]); err != nil {
				return fmt.Errorf("CSS: %w", err)
			}
		}
		tight := cssSpace.ReplaceAllString(s, "")
		tight = strings.ReplaceAll(tight, "scroll-behavior:", "")
		for _, word := range []string{"expression(", "javascript:", "vbscript:", "behavior:", "-moz-binding:", "@import", "progid:"} {
			if strings.Contains(tight, word) {
				return fmt.Errorf("CSS %q in %q", word, s)
			}
		}
	}
	return nil
}
