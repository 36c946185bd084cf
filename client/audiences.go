package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/postledger/postledger"
)

// Audience is a version of a saved lens that yields recipients.
type Audience struct {
	ID    postledger.ID `json:"id"`
	AppID postledger.ID `json:"app_id"`
	Name  string        `json:"name"`
	// Revision counts the saves; a save names the one it was made from.
	Revision int64 `json:"revision"`
	postledger.AudienceDefinition
	CreatedAt time.Time `json:"created_at"`
	// UpdatedAt is when this version was saved, SavedBy the API key that did.
	UpdatedAt time.Time     `json:"updated_at"`
	SavedBy   postledger.ID `json:"saved_by"`
	// RemovedAt is zero while it is there.
	RemovedAt time.Time `json:"removed_at"`
}

// AudienceChange is an audience as it is saved, whole.
type AudienceChange struct {
	// App is for operators, who must name it.
	App postledger.ID `json:"app,omitzero"`
	// Revision is that of the audience the change was made from; 0 creates one.
	Revision int64 `json:"revision"`
	// Name renames the audience; empty keeps the name.
	Name string `json:"name,omitempty"`
	postledger.AudienceDefinition
}

// Audiences lists an app's audiences by name, each in its current version. An
// operator names the app; an app's key gives the zero id. Errors: ErrBadInput,
// ErrAppUnknown; scope read, or admin for operators.
func (c *Client) Audiences(ctx context.Context, app postledger.ID) iter.Seq2[Audience, error] {
	p := parameters{}
	p.id("app", app)
	p.size(maxPage)
	return pagesBy[Audience](ctx, c, "after", "list audiences", "/v1/audiences", url.Values(p))
}

// Audience reads a version of an audience by its name or id, 0 being the current
// one. One that was removed has its id only. Errors: ErrAppUnknown,
// ErrAudienceUnknown; scope read, or admin for operators.
func (c *Client) Audience(ctx context.Context, app postledger.ID, nameOrID string, revision int64) (*Audience, error) {
	p := parameters{}
	p.id("app", app)
	if revision != 0 {
		p["revision"] = []string{strconv.FormatInt(revision, 10)}
	}
	cl := get("read audience", at("/v1/audiences", nameOrID))
	cl.query = url.Values(p)
	return ask[Audience](ctx, c, cl)
}

// AudienceVersions lists an audience's versions, the newest first. Errors:
// ErrAppUnknown, ErrAudienceUnknown; scope read, or admin for operators.
func (c *Client) AudienceVersions(ctx context.Context, app postledger.ID, nameOrID string) iter.Seq2[Audience, error] {
	p := parameters{}
	p.id("app", app)
	p.size(maxPage)
	return pagesBy[Audience](ctx, c, "after", "list versions of an audience", at("/v1/audiences", nameOrID)+"/versions", url.Values(p))
}

// PutAudience saves an audience as a new version. A name has 1 to 63 of a-z, 0-9,
// '.', '_' and '-', and begins with a letter or digit. It is not repeated by itself
// when its answer is lost: ErrRevisionConflict would say nothing then. Errors:
// ErrInvalidAudience, ErrAudienceUnknown, ErrAudienceExists, ErrAudienceRemoved,
// ErrAudienceLimit, ErrRevisionConflict, ErrSourceUnavailable, ErrAppUnknown; scope
// send, or admin for operators.
func (c *Client) PutAudience(ctx context.Context, nameOrID string, a AudienceChange) (*Audience, error) {
	return ask[Audience](ctx, c, &call{
		op: "put audience", method: http.MethodPut, path: at("/v1/audiences", nameOrID), in: &a,
	})
}

// RemoveAudience ends the use of an audience; its versions can still be read by its
// id. Errors: ErrAppUnknown, ErrAudienceUnknown; scope send, or admin for
// operators.
func (c *Client) RemoveAudience(ctx context.Context, app postledger.ID, nameOrID string) (*Audience, error) {
	p := parameters{}
	p.id("app", app)
	return ask[Audience](ctx, c, &call{
		op: "remove audience", method: http.MethodDelete, path: at("/v1/audiences", nameOrID), query: url.Values(p),
	})
}

// Want is something that a preview can find out.
type Want string

// What a preview can find out.
const (
	WantCounts      Want = "counts"
	WantSample      Want = "sample"
	WantSchema      Want = "schema"
	WantExplanation Want = "explanation"
)

// PreviewRequest asks about an audience: a saved one, or one that is only defined.
type PreviewRequest struct {
	// App is for operators, who must name it.
	App postledger.ID `json:"app,omitzero"`
	// Audience is a saved one's name or id, Revision its version (0 is the current
	// one).
	Audience string `json:"audience,omitempty"`
	Revision int64  `json:"revision,omitempty"`
	// Definition is one that is not saved.
	Definition *postledger.AudienceDefinition `json:"definition,omitempty"`
	// Params are the values of the lens's parameters.
	Params map[string]any `json:"params,omitzero"`
	// Want is what to find out; the first three when it is empty.
	Want []Want `json:"want,omitempty"`
	// Progress, if set, hears about once a second how far a count is, from the
	// goroutine that calls.
	Progress func(CountProgress) `json:"-"`
}

// CountProgress is how far a count is. Of is how many rows there were when it
// began, or -1 when that is not known.
type CountProgress struct {
	Read int64 `json:"read"`
	Of   int64 `json:"of"`
}

// Preview is what was found out; what was not asked for is nil.
type Preview struct {
	// AudienceID and Revision are those of a saved audience.
	AudienceID  postledger.ID   `json:"audience_id"`
	Revision    int64           `json:"revision"`
	Counts      *AudienceCounts `json:"counts"`
	Sample      *Sample         `json:"sample"`
	Schema      json.RawMessage `json:"schema"`
	Explanation *Explanation    `json:"explanation"`
}

// AudienceCounts says what would become of the rows that a lens matches; the others
// add up to Matched.
type AudienceCounts struct {
	Matched    int64 `json:"matched"`
	Mailable   int64 `json:"mailable"`
	NoAddress  int64 `json:"no_address"`
	Invalid    int64 `json:"invalid"`
	Duplicate  int64 `json:"duplicate"`
	Suppressed int64 `json:"suppressed"`
}

// Sample are some rows, in the shape of the lens's select.
type Sample struct {
	Rows []json.RawMessage `json:"rows"`
	// Masked: texts show their first letters only; to see them, the key needs the
	// scope content.
	Masked bool `json:"masked"`
}

// Explanation says what a lens means and would cost.
type Explanation struct {
	// English is the lens in one line.
	English string `json:"english"`
	// SQL is the statement of a page, Binds the type and size of its values. An
	// app's key does not see them where there is a floor under its lenses.
	SQL   string   `json:"sql"`
	Binds []string `json:"binds"`
	// EstimatedRows is the database's estimate, or -1.
	EstimatedRows int64    `json:"estimated_rows"`
	Warnings      []string `json:"warnings"`
}

// PreviewAudience counts an audience and shows some of it, as the source is now.
// Nothing is sent or saved. A count reads every address and may take minutes; it
// ends on the server, too, when ctx does. Errors: ErrBadInput, ErrInvalidAudience,
// ErrAppUnknown, ErrAudienceUnknown, ErrAudienceRemoved, ErrSourceUnavailable,
// ErrCountTimeout, ErrOverloaded; scope read, or admin for operators.
func (c *Client) PreviewAudience(ctx context.Context, r PreviewRequest) (*Preview, error) {
	cl := &call{op: "preview audience", method: http.MethodPost, path: "/v1/audiences/preview", in: &r, accept: lineMedia, repeatable: true}
	a, err := c.stream(ctx, cl)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	return a.preview(ctx, cl, r.Progress)
}
