package sanitize_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/postledger/postledger/internal/sanitize"
)

// pieces are put together at random: what matters is what they become next to
// each other.
var pieces = []string{
	"<", ">", "</", "/>", "\"", "'", "=", " ", "\n", "&", ";", ":", "{", "}", "(", ")", "[", "]", "\\", "@", "/*", "*/", "//", "--", "!", "-->", "--!>", "<!--",
	"<!", "<![endif]-->", "<!--[if mso]>", "<!--[if !mso]><!-->", "<!--<![endif]-->", "<![if mso]>", "<![endif]>", "{{", "}}", "{%", "%}", "{{ x }}", "{% if a < 1 %}",
	"<p>", "</p>", `<td align="left" style="color:red">`, `<a href="https://a.test/?a=1&amp;b=2">`, `<a title="&lt;" class="a&b">`, `<img src="cid:x"/>`, "<br />",
	`<p class="x" class="y">`, `<p id="a"title="b">`, `<P ID="a">`, `<p title="a>b < c">`, "</P>", "</p >", "<p style=\"", "<td title='", "<a href=\"", "<img src=", "<style>", "</style>", "<style type=a>", "<title>", "</title>", "<script>", "</script>",
	"<noscript>", "</noscript>", "<svg>", "</svg>", "<math>", "<xml>", "<o:p>", "<v:rect ", "<textarea>", "<select>", "<template>", "<plaintext>", "<iframe>", "<br/>",
	"<meta charset=utf-8>", "<!DOCTYPE html>", "<![CDATA[", "]]>", "<?x", "onclick=a()", "href=", "style=", "javascript:", "https://a.test/", "cid:x", "#x",
	"color:red", "a:b;", "a{b:c}", "a,b>c", "@media x{", "@import 'x';", "@font-face{", "url(", "expression(", "behavior:", "-moz-binding:", "progid:", `\65`, `\3c `, "ex/**/pression(",
	"x", "1", "%", "-", "_", "é", "ｅ", "ʀ", "\x00", "\xff", "\r", "\u2028",
}

func TestContract(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 30).Draw(t, "pieces"), "")
	})
	wraps := [][2]string{{"", ""}, {"<style>", "</style>"}, {"<p style=\"", "\">"}, {"<!--[if mso]>", "<![endif]-->"}, {"<!--[if mso]><style>", "</style><![endif]-->"}, {"<a href=\"", "\">"}}
	rapid.Check(t, func(t *rapid.T) {
		wrap := rapid.SampledFrom(wraps).Draw(t, "wrap")
		if err := check(wrap[0] + text.Draw(t, "text") + wrap[1]); err != nil {
			t.Fatal(err)
		}
	})
}

func seeds(f *testing.F) {
	for _, s := range []string{
		`<p title="--><script>a()</script>">`, `<<script></script>script>a()</script>`, "<style>a{b:c}</style><style>", `<a href="java&#10;script:a()">`,
		`<!--[if mso]><p title="--!><script>"><![endif]-->`, `<svg></p><style><a id="</style><img src=1 onerror=a()>">`, `<p style="a:{{x}};b:{%y%}">`,
		`<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=a()&gt;">`, `<noscript><p title="</noscript><img src=x onerror=a()>">`,
		"<style>@media x{a{b:url(x)}}</style>", `<style>.a{content:"</style>`, "<title><style></title><img src=x>", "<form><math><mtext></form><form><mglyph><style></math><img src onerror=a()>",
	} {
		f.Add(s)
	}
	for _, name := range []string{"button", "word", "identical"} {
		raw, err := os.ReadFile("testdata/" + name + ".html")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(raw))
	}
}

func FuzzSanitize(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		if err := check(s); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzCSS(f *testing.F) {
	for _, s := range []string{"a{b:c}", "@media x{a{b:c;d:url(https://a.test)}}", `a{b:"c`, "{{x}}a{b:{{c}}}", `a\:b{c:\65 xpression(d)}`, "/*/**/", "a{b:c}}d{e:f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, in := range []string{
			"<style>" + s + "</style>",
			"<!--[if mso]><style>" + s + "</style><![endif]-->",
			`<p style="` + strings.ReplaceAll(s, `"`, "&quot;") + `">`,
		} {
			if err := check(in); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func BenchmarkHTML(b *testing.B) {
	for _, name := range []string{"identical", "responsive"} {
		raw, err := os.ReadFile("testdata/" + name + ".html")
		if err != nil {
			b.Fatal(err)
		}
		s := string(raw)
		// The floor: what reading the tokens costs alone.
		b.Run(name+"/tokens", func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				z := html.NewTokenizer(strings.NewReader(s))
				for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
					if kind == html.StartTagToken || kind == html.SelfClosingTagToken {
						for _, more := z.TagName(); more; {
							_, _, more = z.TagAttr()
						}
					}
				}
			}
		})
		b.Run(name+"/filter", func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				if out, _ := sanitize.HTML(s); out == "" {
					b.Fatal("empty")
				}
			}
		})
	}
}
