package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/postledger/postledger/internal/api"
)

// conformance compares answers with the document: each JSON answer of the
// tests passes here.
type conformance struct {
	doc    map[string]any
	routes []documented
}

type documented struct {
	method  string
	path    *regexp.Regexp
	answers map[string]any
}

var document = sync.OnceValues(func() (*conformance, error) {
	text, err := api.OpenAPI()
	if err != nil {
		return nil, err
	}
	c := &conformance{}
	if err := json.Unmarshal(text, &c.doc); err != nil {
		return nil, err
	}
	for path, methods := range c.doc["paths"].(map[string]any) {
		for method, op := range methods.(map[string]any) {
			pattern := "^" + placeholder.ReplaceAllString(path, "[^/]+") + "$"
			c.routes = append(c.routes, documented{strings.ToUpper(method), regexp.MustCompile(pattern), op.(map[string]any)["responses"].(map[string]any)})
		}
	}
	// A path without a placeholder is the better match.
	slices.SortFunc(c.routes, func(a, b documented) int {
		return strings.Count(a.path.String(), "[^") - strings.Count(b.path.String(), "[^")
	})
	return c, nil
})

// checkAnswer reports where an answer is not what the document says.
func checkAnswer(t *testing.T, req *http.Request, a *answer) {
	t.Helper()
	c, err := document()
	must(t, err)
	for _, r := range c.routes {
		if r.method != req.Method || !r.path.MatchString(req.URL.Path) {
			continue
		}
		said, ok := r.answers[strconv.Itoa(a.status)].(map[string]any)
		if !ok {
			said = r.answers["default"].(map[string]any)
			if a.status < 400 {
				t.Errorf("%s %s: the document has no answer %d", req.Method, req.URL.Path, a.status)
			}
		}
		content, _ := said["content"].(map[string]any)
		media, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
		if len(a.body) == 0 {
			if len(content) > 0 {
				t.Errorf("%s %s: an empty answer %d", req.Method, req.URL.Path, a.status)
			}
			return
		}
		m, ok := content[media].(map[string]any)
		if !ok {
			t.Errorf("%s %s: the document has no %s for %d", req.Method, req.URL.Path, media, a.status)
			return
		}
		if a.tree != nil {
			if fault := c.check("", m["schema"].(map[string]any), a.tree); fault != "" {
				t.Errorf("%s %s: %s is not what the document says: %s", req.Method, req.URL.Path, fault, a.body)
			}
		}
		return
	}
}

// check returns the first place that differs, with what is wrong.
func (c *conformance) check(at string, schema map[string]any, v any) string {
	if ref, ok := schema["$ref"].(string); ok {
		var s any = c.doc
		for _, name := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			s = s.(map[string]any)[name]
		}
		schema = s.(map[string]any)
	}
	switch typ := schema["type"]; typ {
	case "object":
		return c.checkObject(at, schema, v)
	case "array":
		list, ok := v.([]any)
		if !ok {
			return at + " is no list"
		}
		for i, e := range list {
			if fault := c.check(fmt.Sprintf("%s[%d]", at, i), schema["items"].(map[string]any), e); fault != "" {
				return fault
			}
		}
	case "string":
		s, ok := v.(string)
		if enum, has := schema["enum"].([]any); !ok || (has && !slices.Contains(enum, any(s))) {
			return fmt.Sprintf("%s is %v", at, v)
		}
	case "integer", "number":
		if _, ok := v.(float64); !ok {
			return at + " is no number"
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			return at + " is neither true nor false"
		}
	case nil:
	default:
		return fmt.Sprintf("%s: unexpected type %v", at, typ)
	}
	return ""
}

func (c *conformance) checkObject(at string, schema map[string]any, v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		return at + " is no object"
	}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := m[name.(string)]; !ok {
			return fmt.Sprintf("%s.%s is missing", at, name)
		}
	}
	for name, e := range m {
		said, ok := properties[name].(map[string]any)
		if !ok {
			if said, ok = schema["additionalProperties"].(map[string]any); !ok {
				return fmt.Sprintf("%s.%s is unknown", at, name)
			}
		}
		if fault := c.check(at+"."+name, said, e); fault != "" {
			return fault
		}
	}
	return ""
}

func TestConformanceCanFail(t *testing.T) {
	c, err := document()
	must(t, err)
	ref := func(name string) map[string]any { return map[string]any{"$ref": "#/components/schemas/" + name} }
	good := map[string]any{"type": "x", "title": "x", "status": 400.0, "code": "bad_input", "request_id": "x"}
	if fault := c.check("", ref("Problem"), good); fault != "" {
		t.Errorf("a good one: %s", fault)
	}
	for name, change := range map[string]func(map[string]any){
		"a member too many": func(m map[string]any) { m["extra"] = 1.0 },
		"a missing one":     func(m map[string]any) { delete(m, "code") },
		"another type":      func(m map[string]any) { m["status"] = "400" },
		"a list of others":  func(m map[string]any) { m["errors"] = []any{map[string]any{"field": "x"}} },
		"no list":           func(m map[string]any) { m["errors"] = nil },
		"another value":     func(m map[string]any) { m["fate"] = "known" },
	} {
		bad := map[string]any{}
		for k, v := range good {
			bad[k] = v
		}
		change(bad)
		if c.check("", ref("Problem"), bad) == "" {
			t.Errorf("%s passes", name)
		}
	}
}
