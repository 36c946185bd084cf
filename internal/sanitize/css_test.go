package sanitize_test

import (
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/sanitize"
)

func TestStyleAttribute(t *testing.T) {
	for _, css := range []string{
		"color:#333;", "color: rgb(1, 2, 3); width: calc(100% - 20px)", "mso-line-height-rule:exactly;mso-table-lspace:0pt",
		"background:url(https://a.test/b.png) no-repeat", "background:url( 'https://a.test/b.png' )", "background: #fff url(cid:bg);",
		"font-family:'Helvetica Neue',Arial,sans-serif", "color:{{ brand.color }};width:{% if wide %}600{% else %}300{% endif %}px",
		"{% if a %}color:red;{% endif %}background:blue", "{{ style }}", "color:{{ c | default: '#fff' }}", "background:url({{ img }})",
		"*zoom:1;_height:1px", "scroll-behavior:smooth", `content:"a;b}c{d"`, "", ";;", "-webkit-text-size-adjust:100%", "display:none !important",
		"background-image:url(https://a.test/a;b.png)", "grid-template-areas:'a b'", `font-family:\41rial`,
	} {
		in := `<p style="` + strings.ReplaceAll(css, `"`, "&quot;") + `">`
		if got, r := sanitize.HTML(in); got != in || r != 0 {
			t.Errorf("%s became %s, removed %s", in, got, r)
		}
		if err := check(in); err != nil {
			t.Error(err)
		}
	}
}

func TestStyleAttributeRefuses(t *testing.T) {
	for _, bad := range []string{
		"width:expression(a())", "width:ex/**/pression(a())", `width:\65xpression(a())`, `width:\000065 xpression(a())`, "width:EXPRESSION (a())",
		"width:e\\xpression(a())", "width:expre/* */ssion/**/(a())", "width:ｅｘｐｒｅｓｓｉｏｎ(a())", "width:expʀessɪoɴ(a())",
		"behavior:url(#default#time2)", "BEHAVIOR : url(x)", `b\65havior:url(x)`, "-moz-binding:url(https://a.test/x#y)", `-moz-bindin\67:url(x)`,
		"background:url(javascript:a())", "background:url('javascript:a()')", `background:url("java\73cript:a()")`, `background:u\72l(javascript:a())`,
		`background:\75 rl(file:///x)`, "background:url(data:image/png;base64,AAAA)", "background:url(//a.test/x)", "background:url(x.png)",
		"background:url(https://a.test/x", "background:url(https://a.test/'x)", "background:url('https://a.test/x)", "background:url(java\nscript:a())",
		"filter:progid:DXImageTransform.Microsoft.AlphaImageLoader(src='x')", "color:red\"", "color:'red\n'", "a:b(", "a:b)", "a:[b)",
		"'color'", "(color)", "a{b:c}", "@import 'x'", "@media x{a{b:c}}", "%b:c('d')", "a:b}c:d", "a:{{expression(a())}}", "a:{{x;behavior:url(x)}}",
		"a:b\\\n", "-o-link:'javascript:a()'", "background:image-set('javascript:a()' 1x)",
	} {
		in := `<p style="color:red;` + strings.ReplaceAll(bad, `"`, "&quot;") + `;top:1px">`
		got, r := sanitize.HTML(in)
		if r != sanitize.CSS || !strings.HasPrefix(got, `<p style="color:red;`) || strings.Contains(got, "a()") {
			t.Errorf("%s became %s, removed %q", in, got, r)
		}
		if err := check(in); err != nil {
			t.Error(err)
		}
	}
}

func TestStyleElement(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"as it is", "\n#outlook a { padding:0; }\n.sm\\:w-full, .w-1\\/2 > td + td ~ p { width: 50% !important }\n", "\n#outlook a { padding:0; }\n.sm\\:w-full, .w-1\\/2 > td + td ~ p { width: 50% !important }\n"},
		{"media", "@media only screen and (min-width:480px) { .a { width:100% !important; } }", "@media only screen and (min-width:480px) { .a { width:100% !important; } }"},
		{"font", "@font-face{font-family:'X';src:url(https://a.test/x.woff2) format('woff2'),local('X')}", "@font-face{font-family:'X';src:url(https://a.test/x.woff2) format('woff2'),local('X')}"},
		{"keyframes", "@-webkit-keyframes a{from{top:0}50%{top:1px}to{top:2px}}", "@-webkit-keyframes a{from{top:0}50%{top:1px}to{top:2px}}"},
		{"attributes", `a[href^="tel"],[class~='x y']{color:inherit}`, `a[href^="tel"],[class~='x y']{color:inherit}`},
		{"placeholders", ".a{color:{{ c }}}{% if x %}.b{top:0}{% endif %}", ".a{color:{{ c }}}{% if x %}.b{top:0}{% endif %}"},
		{"comments", "/* a */.a{/* b */top:0;/*c*/}/* open", ".a{top:0;}"},
		{"no selector", "@media x{{0}a{b:c}}", "@media x{a{b:c}}"},
		{"makes a placeholder", "a{@;%b:c%}d{e:f}", "a{}d{e:f}"},
		{"cdo", "<!-- .a{top:0} -->", " .a{top:0} "},
		{"import", `@import url("https://a.test/x.css");.a{top:0}`, ".a{top:0}"},
		{"import hidden", `@\69mport 'x';@im/**/port "y";@IMPORT url(z);.a{top:0}`, ".a{top:0}"},
		{"import in a block", ".a{top:0;@import 'x';left:0}", ".a{top:0;left:0}"},
		{"unknown at-rule", "@namespace x url(y);@charset 'x';@layer a{.b{top:0}}.a{top:0}", ".a{top:0}"},
		{"declaration", ".a{behavior:url(#default#VML);top:0}", ".a{top:0}"},
		{"nested rule", ".a{top:0;&:hover{left:0}right:0}", ".a{top:0;right:0}"},
		{"bad selector", `.a[x="y{top:0}` + "\n.b{top:0}.c{top:0}", ".c{top:0}"},
		{"bad string", ".a{content:'x\n;top:0}", ".a{top:0}"},
		{"stray end", "}.a{top:0}}", ".a{top:0}"},
		{"unclosed", "@media x{.a{top:0", "@media x{.a{top:0}}"},
		{"end tag in a string", `.a{content:"<\/style><img src=x>"}`, `.a{content:"\3c \/style>\3c img src=x>"}`},
		{"less than", ".a{content:'<b'}@media (width <= 600px){.b{top:0}}", `.a{content:'\3c b'}@media (width <= 600px){.b{top:0}}`},
		{"brace in url", ".a{background:url(https://a.test/}x);top:0}.b{top:0}", ".a{}.b{top:0}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := "<style>" + tt.in + "</style>"
			got, _ := sanitize.HTML(in)
			if want := "<style>" + tt.want + "</style>"; got != want {
				t.Errorf("HTML(%s)\n got  %q\n want %q", in, got, want)
			}
			if err := check(in); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCSSDepthIsBounded(t *testing.T) {
	for _, css := range []string{
		strings.Repeat("@media x{", 5000) + ".a{top:0}",
		strings.Repeat("a{", 5000),
		".a{top:" + strings.Repeat("(", 5000) + strings.Repeat(")", 5000) + "}",
	} {
		if err := check("<style>" + css + "</style>"); err != nil {
			t.Errorf("%.300s", err)
		}
	}
}
