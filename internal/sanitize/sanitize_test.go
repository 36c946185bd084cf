package sanitize_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/postledger/postledger/internal/sanitize"
)

func TestHTML(t *testing.T) {
	tests := []struct{ name, in, want, removed string }{
		{"text", "a &amp; b &nbsp; & c > d", "a &amp; b &nbsp; & c > d", ""},
		{"less than", "1 < 2 <= 3 <3 <", "1 < 2 <= 3 &lt;3 &lt;", ""},
		{"line ends", "a\r\nb\rc\x00\x0b", "a\nb\nc", "control"},
		{"bad utf-8", "a\xffb\xc0\xafc\u0085", "abc", "control"},
		{"quotes", `<td WIDTH=600 align='left' title='a "b"' nowrap>`, `<td width="600" align="left" title="a &quot;b&quot;" nowrap="">`, ""},
		{"void", `<br><BR/><img src="cid:logo" alt=""/>`, `<br><BR /><img src="cid:logo" alt="" />`, ""},
		{"twice", `<a href="https://a.test" href="https://b.test">`, `<a href="https://a.test">`, ""},
		{"query", `<a href="https://a.test/?x=1&y=2&amp;z=3&copy=4">`, `<a href="https://a.test/?x=1&amp;y=2&amp;z=3&amp;copy=4">`, ""},
		{"script", `a<script>alert(1)</script>b<SCRIPT SRC=x>`, "ab", "script"},
		{"script joins", `<scr<script></script>ipt>alert(1)</script>`, "ipt>alert(1)", "element"},
		{"text joins", `<<script></script>b>`, "&lt;b>", "script"},
		{"form", `<form action="https://a.test"><p>Name <input name=n></p><select><option>x</select><textarea></p></textarea></form>`, "<p>Name </p>", "form"},
		{"iframe", `<iframe src="https://a.test"><p>x</p></iframe>y`, "y", "embed"},
		{"svg", `<svg><style><img src=x onerror=a()></style><svg></svg><p>x</svg>y`, "y", "embed"},
		{"noscript", `<noscript><p title="</noscript><img src=x onerror=a()>"></noscript>x`, `<img>">x`, "event,url,element"},
		{"event", `<p onclick="a()" ONMOUSEOVER=b()>`, "<p>", "event"},
		{"unknown", `<custom-a><p data-x=1 ping=x>y</p></custom-a>`, "<p>y</p>", "element,attribute"},
		{"aria", `<p aria-hidden="true" role="presentation" aria-="x">`, `<p aria-hidden="true" role="presentation">`, "attribute"},
		{"target", `<a target="_blank"><a target="x">`, `<a target="_blank"><a>`, "attribute"},
		{"comment", `a<!-- secret -->b<!---->c<?php x ?>d</ e>f<![CDATA[x]]>`, "abcdf", "comment"},
		{"link base", `<base href="https://a.test"><link rel=stylesheet href="https://a.test">x`, "x", "element"},
		{"title", `<title>a <b>x</b> &amp; {{ y }}</title>`, `<title>a &lt;b>x&lt;/b> &amp; {{ y }}</title>`, ""},
		{"title open", `<title>a`, `<title>a</title>`, ""},
		{"style open", `<style>a{b:c`, `<style>a{b:c}</style>`, ""},
		{"unfinished", `<p>x<p class="`, "<p>x", ""},
		{"placeholder text", `{% if a > 1 and b < 2 %}{{ name | default: "x" }}{% endif %}`, `{% if a > 1 and b < 2 %}{{ name | default: "x" }}{% endif %}`, ""},
		{"placeholder values", `<a href="{{ url | append: '?a=1' }}" class="{% if a > 1 %}x{% endif %}" title="{{ t }}">`, `<a href="{{ url | append: '?a=1' }}" class="{% if a > 1 %}x{% endif %}" title="{{ t }}">`, ""},
		{"doctype", `<!DOCTYPE html><!doctype html>x`, `<!DOCTYPE html>x`, "doctype"},
		{"doctype long", `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">`, `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">`, ""},
		{"doctype odd", `<!DOCTYPE html [<!ENTITY x "y">]>`, `]>`, "doctype"},
		{"namespaces", `<html xmlns="http://www.w3.org/1999/xhtml" xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:evil">`, `<html xmlns="http://www.w3.org/1999/xhtml" xmlns:v="urn:schemas-microsoft-com:vml">`, "attribute"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { checkTable(t, tt.in, tt.want, tt.removed) })
	}
}

func checkTable(t *testing.T, in, want, removed string) {
	t.Helper()
	got, r := sanitize.HTML(in)
	if got != want || r.String() != removed {
		t.Errorf("HTML(%q)\n got  %q %q\n want %q %q", in, got, r, want, removed)
	}
	if err := check(in); err != nil {
		t.Error(err)
	}
}

func TestURLs(t *testing.T) {
	for _, u := range []string{
		"https://a.test/x", "HTTP://a.test", "mailto:mira@rcv.test?subject=x", "tel:+4712345678", "sms:+4712345678",
		"cid:part1@send.test", "#top", "", "{{ url }}", "{% if a %}https://a.test{% endif %}", "https://a.test/{{ id }}?u=javascript:x",
	} {
		in := `<a href="` + u + `">x</a>`
		if got, r := sanitize.HTML(in); got != in || r != 0 {
			t.Errorf("%q became %q, removed %s", in, got, r)
		}
	}
	for _, u := range []string{
		"javascript:a()", "JaVaScRiPt:a()", " javascript:a()", "java\nscript:a()", "java&#10;script:a()", "java&Tab;script:a()",
		"&#x6a;avascript&colon;a()", "\x01javascript:a()", "javascript&#58;a()", "vbscript:a", "data:text/html,x", "file:///etc/hostname",
		"//a.test/x", "/logout", "x.html", `\\host\share`, "ftp://a.test", "about:blank", "blob:https://a.test/x", "view-source:https://a.test",
		"java{{ x }}script:a()", "javascript://%0aa()//https://a.test", "jav\u00adascript:a()", "x:y", ":", "a",
	} {
		got, r := sanitize.HTML(`<a href="` + u + `">x</a>`)
		if got != "<a>x</a>" || r&sanitize.URL == 0 {
			t.Errorf("href %q: %q, removed %s", u, got, r)
		}
	}
	for in, want := range map[string]string{
		`<img src="data:image/png;base64,AAAA">`:                                         `<img>`,
		`<img src="mailto:a@x.test">`:                                                    `<img>`,
		`<td background="javascript:a()">`:                                               `<td>`,
		`<td background=" https://a.test/b.png ">`:                                       `<td background="https://a.test/b.png">`,
		`<img srcset="https://a.test/1.png 1x, https://a.test/2.png 2x">`:                `<img srcset="https://a.test/1.png 1x, https://a.test/2.png 2x">`,
		`<img srcset="https://a.test/1.png 1x, javascript:a() 2x">`:                      `<img>`,
		`<img usemap="#m"><map name="m"><area href="https://a.test" shape="rect"></map>`: `<img usemap="#m"><map name="m"><area href="https://a.test" shape="rect"></map>`,
	} {
		if got, _ := sanitize.HTML(in); got != want {
			t.Errorf("HTML(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMeta(t *testing.T) {
	for _, in := range []string{
		`<meta charset="utf-8">`,
		`<meta http-equiv="Content-Type" content="text/html; charset=UTF-8" />`,
		`<meta http-equiv="X-UA-Compatible" content="IE=edge">`,
		`<meta name="viewport" content="width=device-width, initial-scale=1">`,
		`<meta name="color-scheme" content="light dark">`,
		`<meta name="x-apple-disable-message-reformatting">`,
	} {
		if got, r := sanitize.HTML(in); got != in || r != 0 {
			t.Errorf("%q became %q, removed %s", in, got, r)
		}
	}
	for _, in := range []string{
		`<meta http-equiv="refresh" content="0;url=https://evil.test">`,
		`<meta http-equiv=" refresh" content="0;url=https://evil.test">`,
		`<meta http-equiv="Content-Type" content="text/html; charset=utf-7">`,
		`<meta charset="utf-7">`,
		`<meta http-equiv="set-cookie" content="a=b">`,
		`<meta name="referrer" content="unsafe-url">`,
		`<meta property="og:url" content="https://a.test">`,
		`<meta>`,
		`<meta charset="utf-8" http-equiv="refresh" content="0">`,
	} {
		if got, r := sanitize.HTML(in); got != "" || r&sanitize.Meta == 0 {
			t.Errorf("%q became %q, removed %s", in, got, r)
		}
	}
}

func TestConditionalComments(t *testing.T) {
	tests := []struct{ name, in, want, removed string }{
		{"hidden", "<!--[if mso | IE]><table><tr><td style=\"width:600px;\"><![endif]-->x<!--[if mso | IE]></td></tr></table><![endif]-->", "<!--[if mso | IE]><table><tr><td style=\"width:600px;\"><![endif]-->x<!--[if mso | IE]></td></tr></table><![endif]-->", ""},
		{"filtered", `<!--[if mso]><script>a()</script><p onclick=a()>x</p><iframe></iframe><![endif]-->`, `<!--[if mso]><p>x</p><![endif]-->`, "script,embed,event"},
		{"revealed", `<!--[if !mso]><!--><p>x</p><!--<![endif]-->`, `<!--[if !mso]><!--><p>x</p><!--<![endif]-->`, ""},
		{"revealed, other spelling", `<!--[if !mso]><!-- --><p>x</p><!-- <![endif]-->`, `<!--[if !mso]><!--><p>x</p><!--<![endif]-->`, ""},
		{"revealed, old", `<![if !mso]><p>x</p><![endif]>`, `<![if !mso]><p>x</p><![endif]>`, ""},
		{"office", `<!--[if gte mso 9]><noscript><xml><o:OfficeDocumentSettings><o:AllowPNG/><o:PixelsPerInch>96</o:PixelsPerInch></o:OfficeDocumentSettings></xml></noscript><![endif]-->`, `<!--[if gte mso 9]><noscript><xml><o:OfficeDocumentSettings><o:AllowPNG /><o:PixelsPerInch>96</o:PixelsPerInch></o:OfficeDocumentSettings></xml></noscript><![endif]-->`, ""},
		{"vml", `<!--[if mso]><v:roundrect xmlns:v="urn:schemas-microsoft-com:vml" href="https://a.test" style="height:40px;v-text-anchor:middle;" arcsize="10%" fillcolor="#1e3650" stroke="f"><w:anchorlock/><v:fill type="tile" src="https://a.test/b.png" color="#ffffff" /><center>Go</center></v:roundrect><![endif]-->`, `<!--[if mso]><v:roundrect xmlns:v="urn:schemas-microsoft-com:vml" href="https://a.test" style="height:40px;v-text-anchor:middle;" arcsize="10%" fillcolor="#1e3650" stroke="f"><w:anchorlock /><v:fill type="tile" src="https://a.test/b.png" color="#ffffff" /><center>Go</center></v:roundrect><![endif]-->`, ""},
		{"vml scheme", `<!--[if mso]><v:rect href="javascript:a()"><v:fill src="file:///x"/></v:rect><![endif]-->`, `<!--[if mso]><v:rect><v:fill /></v:rect><![endif]-->`, "url"},
		{"vml outside", `<v:rect><p>x</p></v:rect><o:p></o:p>`, `<p>x</p><o:p></o:p>`, "element"},
		{"closes early", `<!--[if mso]><p title="--><img src=x onerror=a()>"><![endif]-->`, `<img>"><![endif]-->`, "event,url,comment"},
		{"joins to an end", `<!--[if mso]>--<script></script>><script></script>--!<script></script>><![endif]-->`, `<!--[if mso]>--&gt;--!&gt;<![endif]-->`, "script"},
		{"style joins to an end", `<!--[if mso]><style>a{b:c}a--/**/>b{c:d}</style>x<![endif]-->`, `<!--[if mso]>x<![endif]-->`, "css"},
		{"style", `<!--[if mso]><style type="text/css">table {border-collapse: collapse;} td > p {margin: 0}</style><![endif]-->`, `<!--[if mso]><style type="text/css">table {border-collapse: collapse;} td > p {margin: 0}</style><![endif]-->`, ""},
		{"comment in it", `<!--[if mso]>a<!-- b --><![endif]-->`, `<![endif]-->`, "comment"},
		{"condition", `<!--[if mso]"><script>]>x<![endif]-->y`, "y", "comment"},
		{"repeated", `<!--[if mso]><p onclick=a()>x<![endif]--><!--[if IE]><p onclick=a()>x<![endif]-->`, `<!--[if mso]><p>x<![endif]--><!--[if IE]><p>x<![endif]-->`, "event"},
		{"no condition", `<!--[if ]>x<![endif]--><!--[if  ]><!-->y`, "y", "comment"},
		{"no end", `<!--[if mso]>x-->y`, "y", "comment"},
		{"nothing", `<!--[if mso]>-->y`, "<!--[if mso]><!-->y", ""},
		{"document in it", `<!--[if mso]><!DOCTYPE html><title>x</title><meta charset="utf-7"><![endif]-->`, `<!--[if mso]><![endif]-->`, "element,meta,doctype"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { checkTable(t, tt.in, tt.want, tt.removed) })
	}
}

// The documents in testdata are what template authors write. They lose nothing,
// and mean the same to a browser's parser before and after.
func TestGoldenDocuments(t *testing.T) {
	files, err := filepath.Glob("testdata/*.html")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out, removed := sanitize.HTML(string(raw))
		if removed != 0 {
			t.Errorf("%s loses %s", file, removed)
		}
		if want, got := outline(t, string(raw)), outline(t, out); !slices.Equal(want, got) {
			for i := range want {
				if i >= len(got) || want[i] != got[i] {
					t.Errorf("%s differs from %q: %q", file, want[i], got[min(i, len(got)):min(i+1, len(got))])
					break
				}
			}
		}
		if strings.HasSuffix(file, "identical.html") && out != string(raw) {
			t.Errorf("%s is not byte-identical:\n%s", file, out)
		}
		if err := check(string(raw)); err != nil {
			t.Error(err)
		}
	}
}

// outline lists the tokens of a document in the meaning, not the spelling.
// Comments that are not conditional are left out, and CSS comments too.
func outline(t *testing.T, s string) []string {
	t.Helper()
	var out []string
	z := html.NewTokenizer(strings.NewReader(strings.ReplaceAll(s, "\r\n", "\n")))
	for z.Next() != html.ErrorToken {
		tok := z.Token()
		if tok.Data == "noscript" {
			z.NextIsNotRawText()
		}
		switch tok.Type {
		case html.CommentToken:
			body, hidden := strings.CutSuffix(strings.TrimSpace(tok.Data), "<![endif]")
			switch cond, inner, _ := strings.Cut(body, ">"); {
			case hidden && body != "":
				out = append(append(out, cond), outline(t, inner)...)
			case strings.Contains(tok.Data, "[if"):
				out = append(out, strings.TrimRight(tok.Data, "<!- "))
			case strings.Contains(tok.Data, "endif"):
				out = append(out, strings.TrimSpace(tok.Data))
			}
		case html.TextToken:
			text := cssComment.ReplaceAllString(tok.Data, "")
			text = strings.NewReplacer("<!--", "", "-->", "").Replace(text)
			if len(out) > 0 && strings.HasPrefix(out[len(out)-1], "text") {
				out[len(out)-1] += text
			} else {
				out = append(out, "text "+text)
			}
		default:
			out = append(out, tok.String())
		}
	}
	return out
}
