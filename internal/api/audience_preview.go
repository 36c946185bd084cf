package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/audience"
)

// previewRequest asks about an audience, saved or not.
type previewRequest struct {
	App        postledger.ID   `json:"app,omitzero" doc:"The app; for operators, who must name it."`
	Audience   string          `json:"audience,omitempty" given:"nonempty" doc:"A saved audience's name or id. Either this or definition."`
	Revision   int64           `json:"revision,omitempty" given:"nonempty" minimum:"1" doc:"The version of it; the current one when left out."`
	Definition *AudienceFields `json:"definition,omitempty" doc:"An audience that is not saved."`
	Params     json.RawMessage `json:"params,omitempty" doc:"Values of the lens's parameters, by their names."`
	Want       []string        `json:"want,omitempty" given:"nonempty" enum:"counts,sample,schema,explanation" doc:"What to find out: counts, sample, schema, explanation; default the first three."`
}

type countsView struct {
	Matched    int64 `json:"matched" doc:"Rows that the lens matches: the sum of the others."`
	Mailable   int64 `json:"mailable" doc:"Different addresses that mail could be sent to."`
	NoAddress  int64 `json:"no_address" doc:"Rows whose address is null or blank."`
	Invalid    int64 `json:"invalid" doc:"Rows whose address is no e-mail address."`
	Duplicate  int64 `json:"duplicate" doc:"Rows whose address another row has, in any spelling."`
	Suppressed int64 `json:"suppressed" doc:"Different addresses on the app's suppression list."`
}

type explanationView struct {
	English  string   `json:"english" doc:"The lens in one line."`
	SQL      string   `json:"sql,omitempty" doc:"The statement of a page. An app's key does not see it where the configuration puts a floor under its lenses."`
	Binds    []string `json:"binds,omitempty" doc:"The type and size of each of its values."`
	Rows     int64    `json:"estimated_rows" doc:"The database's estimate of how many rows match, or -1 when it has none."`
	Warnings []string `json:"warnings,omitempty" doc:"Big tables that are read from end to end."`
}

type previewView struct {
	AudienceID  postledger.ID    `json:"audience_id,omitzero" doc:"The saved audience that was looked at."`
	Revision    int64            `json:"revision,omitempty" doc:"Its version."`
	Counts      *countsView      `json:"counts,omitempty"`
	Sample      *sampleView      `json:"sample,omitempty"`
	Schema      json.RawMessage  `json:"schema,omitempty" doc:"The JSON Schema of a row: what a template may use."`
	Explanation *explanationView `json:"explanation,omitempty"`
}

type sampleView struct {
	Rows   []json.RawMessage `json:"rows" doc:"The first ten in the lens's order, in the shape of its select."`
	Masked bool              `json:"masked" doc:"Texts show their first letters only: to see them, an app's key needs the scope content."`
}

// progressView is a line of an answer that comes in lines: exactly one of its
// members is there.
type progressView struct {
	Progress *progressLine `json:"progress,omitempty"`
	Result   *previewView  `json:"result,omitempty" doc:"The last line, when all went well."`
	Problem  *Problem      `json:"problem,omitempty" doc:"The last line, when it did not."`
}

type progressLine struct {
	Read int64 `json:"read" doc:"Rows counted so far."`
	Of   int64 `json:"of" doc:"How many there were at the beginning, or -1 when that is not known."`
}

const ndjson = "application/x-ndjson"

func (s *server) previewRoute() {
	rt := admin(http.MethodPost, "/v1/audiences/preview", "preview-audience", "Count an audience, and see some of it",
		"Says how many rows the lens matches and what would become of them, and shows ten, as the source is now. Nothing is sent or saved. "+
			"A count reads every address and may take minutes. It ends when the caller goes away. With `Accept: "+ndjson+"` the answer comes in lines: "+
			"one a second with `progress`, and a last one with `result`, or with `problem` where something went wrong after the first.")
	rt.tag, rt.app, rt.action, rt.unhurried, rt.success = tagAudiences, postledger.ScopeRead, "audience.preview", true, http.StatusOK
	rt.codes = []Code{codeBadInput, codeInvalidAudience, codeAppUnknown, codeAudienceUnknown, codeAudienceRemoved, codeSourceUnavailable, codeCountTimeout, codeOverloaded}
	stream(s, rt, s.preview)
	describeBody[previewRequest](s, &rt)
	s.operation(&rt).Responses["200"].Content = map[string]*huma.MediaType{
		"application/json": {Schema: s.schemas().Schema(reflect.TypeFor[previewView](), true, "")},
		ndjson:             {Schema: s.schemas().Schema(reflect.TypeFor[progressView](), true, "")},
	}
}

// preview finds everything out before it says anything, unless it is asked for
// lines: then the first one is its beginning.
func (s *server) preview(ctx context.Context, c *call) error {
	var body previewRequest
	if err := c.decodeJSON(&body); err != nil {
		return err
	}
	app, err := s.audienceApp(ctx, c, body.App)
	if err != nil {
		return err
	}
	saved, d, err := s.previewed(ctx, app.ID, &body)
	if err != nil {
		return err
	}
	want, err := c.wanted(body.Want)
	if err != nil {
		return err
	}
	params, err := previewParams(body.Params)
	if err != nil {
		return err
	}
	line := c.audienceAudit(s, "audience.preview", app.ID, saved.ID)
	line.Detail = "source=" + safeName(d.Source) + " want=" + strings.Join(body.Want, ",")
	if want.Sample && want.Clear {
		line.Detail += " clear"
	}
	// What is read is in the trail before anybody sees it.
	if err := s.Ledger.AppendAudit(ctx, line); err != nil {
		return err
	}
	out := &lines{w: c.w, on: strings.Contains(c.r.Header.Get("Accept"), ndjson)}
	defer out.end() // also when a fault of ours ends the request
	p, err := s.Audiences.Preview(ctx, app, d, params, want, out.progress)
	out.end()
	if err != nil {
		under := "definition"
		if body.Definition == nil {
			under = ""
		}
		err = audienceProblem(err, under)
		if !out.begun {
			return err
		}
		_ = out.put(progressView{Problem: s.refuse(ctx, c, problemOf(err))}) // who is gone needs no answer
		return nil
	}
	v, err := viewPreview(&p, &saved, !want.Clear)
	if err != nil {
		return err
	}
	if out.on {
		_ = out.put(progressView{Result: &v})
		return nil
	}
	c.w.Header().Set("Content-Type", "application/json")
	_ = writeJSON(c.w, v)
	return nil
}

// previewed is the audience that is asked about.
func (s *server) previewed(ctx context.Context, app postledger.ID, body *previewRequest) (postledger.Audience, postledger.AudienceDefinition, error) {
	var none postledger.Audience
	switch {
	case body.Audience == "" && body.Definition == nil:
		return none, none.AudienceDefinition, field("audience", accept.RuleRequired, "is missing: name a saved audience, or give a definition")
	case body.Audience != "" && body.Definition != nil:
		return none, none.AudienceDefinition, field("definition", accept.RuleNotAllowed, "cannot be given beside audience")
	case body.Audience == "" && body.Revision != 0:
		return none, none.AudienceDefinition, field("revision", accept.RuleNotAllowed, "is that of a saved audience")
	case body.Revision < 0:
		return none, none.AudienceDefinition, field("revision", accept.RuleRange, "is negative")
	case body.Definition != nil:
		return none, postledger.AudienceDefinition(*body.Definition), nil
	}
	a, err := s.audience(ctx, app, body.Audience, body.Revision)
	if err == nil && !a.RemovedAt.IsZero() {
		err = problem(codeAudienceRemoved, "")
	}
	return a, a.AudienceDefinition, err
}

// wanted reads what is asked for. Rows in clear are content, as bodies are; the
// statement under a floor is an operator's.
func (c *call) wanted(list []string) (audience.Want, error) {
	w := audience.Want{SQL: c.operator(), Clear: slices.Contains(c.key.Scopes, postledger.ScopeContent)}
	if len(list) == 0 {
		w.Counts, w.Sample, w.Schema = true, true, true
	}
	for _, word := range list {
		switch word {
		case "counts":
			w.Counts = true
		case "sample":
			w.Sample = true
		case "schema":
			w.Schema = true
		case "explanation":
			w.Explanation = true
		default:
			return w, field("want", accept.RuleUnknown, "is none of counts, sample, schema and explanation")
		}
	}
	return w, nil
}

func previewParams(raw json.RawMessage) (map[string]any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var params map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&params); err != nil {
		return nil, field("params", ruleType, "must be an object with a value for each parameter")
	}
	return params, nil
}

func viewPreview(p *audience.Preview, saved *postledger.Audience, masked bool) (previewView, error) {
	v := previewView{AudienceID: saved.ID, Revision: saved.Revision}
	if p.Counts != nil {
		v.Counts = (*countsView)(p.Counts)
	}
	if p.Rows != nil {
		v.Sample = &sampleView{p.Rows, masked}
	}
	if p.Explanation != nil {
		v.Explanation = (*explanationView)(p.Explanation)
	}
	var err error
	if p.Schema != nil {
		v.Schema, err = json.Marshal(p.Schema)
	}
	return v, err
}
