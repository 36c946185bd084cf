package api

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed docs.html
var docsTemplate string

//go:embed docs.css
var docsStyle string

// docsPolicy allows the page its own style and nothing else: no script runs,
// and nothing is loaded from anywhere.
func docsPolicy() string {
	sum := sha256.Sum256([]byte(docsStyle))
	return fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		base64.StdEncoding.EncodeToString(sum[:]))
}

// docs renders the page from the document that the routes made.
func (s *server) docs() ([]byte, error) {
	t, err := template.New("docs").Funcs(template.FuncMap{"prose": prose}).Parse(docsTemplate)
	if err != nil {
		return nil, fmt.Errorf("read the template of the page: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, s.docsPage()); err != nil {
		return nil, fmt.Errorf("render the page: %w", err)
	}
	return out.Bytes(), nil
}

// page is the document in the order of its reading.
type docsPage struct {
	Title, Version, Introduction string
	Style                        template.CSS
	Groups                       []docsGroup
	Schemas                      []docsSchema
	Errors                       []Entry
}

type docsGroup struct {
	Name, Text string
	Operations []docsOperation
}

type docsOperation struct {
	ID, Method, Path, Summary, Text string
	Parameters                      []docsField
	Bodies, Responses               []docsContent
}

type docsContent struct {
	Status, Text, Media, Type, Ref string
	Headers                        []docsField
}

type docsField struct {
	Name, In, Type, Ref, Text, Example string
	Required                           bool
}

type docsSchema struct {
	Name   string
	Fields []docsField
}

func (s *server) docsPage() docsPage {
	doc := s.api.OpenAPI()
	p := docsPage{
		Title: doc.Info.Title, Version: doc.Info.Version, Introduction: doc.Info.Description,
		Style: template.CSS(docsStyle), Errors: table, //nolint:gosec // it is embedded, and what the policy's hash is of
	}
	for _, tag := range doc.Tags {
		g := docsGroup{Name: tag.Name, Text: tag.Description}
		for _, key := range slices.Sorted(mapKeys(s.routes)) {
			if rt := s.routes[key]; rt.tag == tag.Name {
				g.Operations = append(g.Operations, describeOperation(rt, s.operation(rt)))
			}
		}
		slices.SortStableFunc(g.Operations, func(a, b docsOperation) int { return strings.Compare(a.Path, b.Path) })
		p.Groups = append(p.Groups, g)
	}
	m := doc.Components.Schemas.Map()
	for _, name := range slices.Sorted(mapKeys(m)) {
		p.Schemas = append(p.Schemas, docsSchema{name, schemaFields(m[name])})
	}
	return p
}

func describeOperation(rt *route, op *huma.Operation) docsOperation {
	o := docsOperation{ID: rt.id, Method: rt.method, Path: rt.path, Summary: op.Summary, Text: op.Description}
	for _, p := range op.Parameters {
		f := schemaField(p.Name, p.Schema, p.Required)
		f.In, f.Text = p.In, p.Description
		o.Parameters = append(o.Parameters, f)
	}
	if op.RequestBody != nil {
		o.Bodies = contents("", "", op.RequestBody.Content, nil)
	}
	for _, status := range slices.Sorted(mapKeys(op.Responses)) {
		r := op.Responses[status]
		var headers []docsField
		for _, name := range slices.Sorted(mapKeys(r.Headers)) {
			headers = append(headers, docsField{Name: name, Text: r.Headers[name].Description})
		}
		list := contents(status, r.Description, r.Content, headers)
		if len(list) == 0 {
			list = []docsContent{{Status: status, Text: r.Description}}
		}
		o.Responses = append(o.Responses, list...)
	}
	return o
}

func contents(status, text string, m map[string]*huma.MediaType, headers []docsField) []docsContent {
	var out []docsContent
	for _, media := range slices.Sorted(mapKeys(m)) {
		typ, ref := typeName(m[media].Schema)
		out = append(out, docsContent{Status: status, Text: text, Media: media, Type: typ, Ref: ref, Headers: headers})
	}
	return out
}

func schemaFields(s *huma.Schema) []docsField {
	var out []docsField
	for _, name := range slices.Sorted(mapKeys(s.Properties)) {
		out = append(out, schemaField(name, s.Properties[name], slices.Contains(s.Required, name)))
	}
	return out
}

func schemaField(name string, s *huma.Schema, required bool) docsField {
	f := docsField{Name: name, Required: required}
	if s == nil {
		return f
	}
	f.Type, f.Ref = typeName(s)
	f.Text = s.Description
	if len(s.Examples) > 0 {
		f.Example = fmt.Sprint(s.Examples[0])
	}
	var limits []string
	if s.Default != nil {
		limits = append(limits, fmt.Sprintf("Default %v.", s.Default))
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		limits = append(limits, fmt.Sprintf("%v to %v.", *s.Minimum, *s.Maximum))
	case s.Minimum != nil:
		limits = append(limits, fmt.Sprintf("At least %v.", *s.Minimum))
	case s.Maximum != nil:
		limits = append(limits, fmt.Sprintf("At most %v.", *s.Maximum))
	}
	f.Text = strings.TrimSpace(f.Text + " " + strings.Join(limits, " "))
	return f
}

// typeName is a schema in a few words, and the schema that it refers to.
func typeName(s *huma.Schema) (name, ref string) {
	switch {
	case s == nil:
		return "", ""
	case s.Ref != "":
		ref = s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return ref, ref
	case len(s.OneOf) > 0:
		var names []string
		for _, o := range s.OneOf {
			n, _ := typeName(o)
			names = append(names, n)
		}
		return strings.Join(names, " or "), ""
	case s.Type == huma.TypeArray:
		name, ref = typeName(s.Items)
		return "list of " + name, ref
	case len(s.Enum) > 0:
		var names []string
		for _, e := range s.Enum {
			names = append(names, fmt.Sprint(e))
		}
		return strings.Join(names, " | "), ""
	case s.Format != "" && s.Type == huma.TypeString:
		return s.Format, ""
	case s.ContentEncoding != "":
		return s.ContentEncoding, ""
	case s.Type == "":
		return "object", ""
	default:
		if extra, ok := s.AdditionalProperties.(*huma.Schema); ok {
			name, ref = typeName(extra)
			return "map of " + name, ref
		}
		return s.Type, ""
	}
}

// span is a piece of prose: plain, or code.
type span struct {
	Code bool
	Text string
}

// prose cuts a text into paragraphs, and those at their backquotes.
func prose(text string) [][]span {
	var out [][]span
	for _, paragraph := range strings.Split(text, "\n\n") {
		var spans []span
		for i, piece := range strings.Split(paragraph, "`") {
			if piece != "" {
				spans = append(spans, span{i%2 == 1, piece})
			}
		}
		if len(spans) > 0 {
			out = append(out, spans)
		}
	}
	return out
}
