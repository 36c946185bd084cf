package api

import (
	"context"
	"errors"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/address"
	"github.com/postledger/postledger/internal/ledger"
)

// pageView is one page of a list.
type pageView[T any] struct {
	Items []T        `json:"items"`
	Next  string     `json:"next,omitempty" doc:"The cursor of the page with older items; the list ends where it is missing. A page may be short, even empty, and have one."`
	Prev  string     `json:"prev,omitempty" doc:"The cursor of the page with newer items."`
	Total *totalView `json:"total,omitempty" doc:"The length of the whole list, when it was asked for."`
}

type totalView struct {
	N    int  `json:"n" maximum:"10000"`
	More bool `json:"more" doc:"There are more than n."`
}

// viewPage makes a page of the ledger's one of ours.
func viewPage[F, T any](p ledger.Page[F], view func(*F) T) pageView[T] {
	out := pageView[T]{Items: make([]T, 0, len(p.Items)), Next: p.Next, Prev: p.Prev}
	for i := range p.Items {
		out.Items = append(out.Items, view(&p.Items[i]))
	}
	if p.Total != nil {
		out.Total = &totalView{p.Total.N, p.Total.More}
	}
	return out
}

// PagingInput is how a list is paged.
type PagingInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"How many items a page has at most."`
	Cursor string `query:"cursor" doc:"next or prev of another page with the same filter."`
	Total  bool   `query:"total" doc:"Count the whole list, up to 10,000."`
}

func (p *PagingInput) paging() ledger.Paging {
	return ledger.Paging{Limit: p.Limit, Cursor: p.Cursor, Total: p.Total}
}

// FilterInput chooses rows of messages and deliveries; its fields add up.
type FilterInput struct {
	App       postledger.ID `query:"app" doc:"One app; for operators. An app's key sees its own only."`
	Profile   string        `query:"profile" doc:"A profile's name or id."`
	Batch     postledger.ID `query:"batch"`
	Status    []string      `query:"status" doc:"One or more states, with commas between them. For messages: those that have a delivery in one of them."`
	Since     time.Time     `query:"since" doc:"Accepted at this time or later."`
	Until     time.Time     `query:"until" doc:"Accepted before this time."`
	RefScope  string        `query:"ref_scope"`
	RefID     string        `query:"ref_id" doc:"The caller's own reference. For operators it needs app."`
	Lane      string        `query:"lane" enum:"immediate,bulk"`
	Recipient string        `query:"recipient" doc:"A whole address, in any spelling."`
}

// SearchInput are the searches in addresses, which only deliveries have.
type SearchInput struct {
	Message  postledger.ID `query:"message"`
	Domain   string        `query:"domain" doc:"The domain of the address; needs since and until, at most 31 days apart."`
	Prefix   string        `query:"prefix" doc:"How the address begins, at least two characters."`
	Contains string        `query:"contains" doc:"A text inside the address; needs since and until, at most 31 days apart."`
}

// filter makes the ledger's filter for this caller.
func (s *server) filter(ctx context.Context, c *call, in *FilterInput) (ledger.Filter, error) {
	f := ledger.Filter{
		App: c.only(in.App), Batch: in.Batch, Since: in.Since, Until: in.Until,
		RefScope: in.RefScope, RefID: in.RefID, Lane: postledger.Lane(in.Lane),
	}
	if c.foreign(in.App) {
		f.App = nobody // the answer for an app that does not exist
	}
	var err error
	if f.Profile, err = s.filterProfile(ctx, c, in.Profile); err != nil {
		return f, err
	}
	if f.Statuses, err = statuses("status", in.Status); err != nil {
		return f, err
	}
	if in.Recipient != "" {
		if f.Recipient, err = foldAddress("recipient", in.Recipient); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (in *SearchInput) add(f *ledger.Filter) error {
	f.Message = in.Message
	f.Prefix, f.Contains = foldText(in.Prefix), foldText(in.Contains)
	if in.Domain == "" {
		return nil
	}
	a, err := address.Parse("x@" + in.Domain)
	if err != nil {
		return field("domain", accept.RuleSyntax, "is not a domain")
	}
	f.Domain = a.Domain()
	return nil
}

// nobody is an id that no row has: its time is before every clock's.
var nobody = postledger.ID{0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 1}

// filterProfile is the id of a profile in a filter. An app is not told which
// names exist: a profile that it does not know has none of its rows.
func (s *server) filterProfile(ctx context.Context, c *call, name string) (postledger.ID, error) {
	if name == "" {
		return postledger.ID{}, nil
	}
	if id, err := postledger.ParseID(name); err == nil {
		return id, nil
	}
	p, err := s.Ledger.ProfileByName(ctx, name)
	if errors.Is(err, ledger.ErrProfileUnknown) && !c.operator() {
		return nobody, nil
	}
	return p.ID, err
}

func statuses(name string, list []string) ([]postledger.Status, error) {
	var out []postledger.Status
	for _, text := range list {
		st := postledger.Status(text)
		if !st.Valid() {
			return nil, field(name, accept.RuleUnknown, "is not one of queued, sending, sent, unconfirmed, failed, suppressed, canceled")
		}
		out = append(out, st)
	}
	return out, nil
}

func foldAddress(name, text string) (string, error) {
	a, err := address.Parse(text)
	if err != nil {
		return "", field(name, accept.RuleSyntax, "is not an e-mail address")
	}
	return a.Fold(), nil
}

// foldText folds a part of an address as address.Fold does the whole.
func foldText(text string) string {
	return norm.NFC.String(strings.ToLower(norm.NFC.String(text)))
}
