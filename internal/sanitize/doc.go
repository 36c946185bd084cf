// Package sanitize filters the HTML of outgoing e-mail: what mail clients need
// for layout stays, what could act stays out.
//
// # Contract
//
// For every input x, with y the output for x:
//
//   - The output for y is y, and nothing is reported as removed from it.
//   - A browser-grade parse of y finds only allowed elements with allowed
//     attributes: no script, no embedded document, no form control, no event
//     handler, no URL with a scheme that is not allowed. The same holds for the
//     content of each conditional comment of y.
//   - y is valid UTF-8 without control characters other than tab and line feed.
//   - y is never longer than 6 times x plus a constant, and memory and time are
//     linear in x. The only recursion is into conditional comments (one level)
//     and into CSS blocks (8 levels).
//
// # Method
//
// The input is read by the HTML tokenizer (WHATWG HTML §13.2.5) and every
// token is written anew or dropped; nothing is copied unread. What is written
// is a small subset of HTML that every parser reads in one way: attribute
// values in double quotes, no "<" that could open anything in text, values or
// style sheets, style and title always closed, no element whose content is
// read differently in another context (svg, math, template, select, noscript,
// …). Tags need not balance: layouts for Outlook open a table in one
// conditional comment and close it in another.
//
// # What stays
//
// Elements and attributes of mail layout (see the tables in allow.go), the
// DOCTYPE, style elements and attributes, and three kinds of comment:
//
//	<!--[if mso]> … <![endif]-->                 hidden from all but Outlook; its content is filtered, with VML and Office elements allowed
//	<!--[if !mso]><!--> … <!--<![endif]-->       shown to all but Outlook
//	<![if !mso]> … <![endif]>                    the same in the older spelling
//
// URLs may be http, https, mailto, tel, sms and cid, or a fragment of the page
// ("#top"); those that are loaded by themselves (images, backgrounds, fonts)
// only http, https and cid. data: is refused for images too: large mail
// providers drop such images, and it is a way past content scanners. Relative
// references are refused: a mail has no base, and in web mail they would point
// into the reader's own mail site.
//
// Template placeholders ({{ … }}, {% … %}) are text like any other, also where
// a URL or a CSS value is expected. What is put in their place later is not
// seen here: the output of a template needs its own pass if its data is not
// trusted.
//
// # Style sheets
//
// CSS is parsed by the grammar of CSS Syntax Level 3 §5, comments removed,
// escapes and full-width letters decoded for checking. Declarations that could
// act (expression(), behavior, -moz-binding, progid filters, URLs with other
// schemes) are dropped one by one; at-rules other than media, supports,
// font-face, keyframes, page and viewport are dropped with their blocks.
package sanitize
