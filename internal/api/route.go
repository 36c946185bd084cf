package api

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/postledger/postledger"
)

// route is one operation: where it is, who may use it, and what it says.
type route struct {
	method, path, id, tag string
	summary, text         string
	// app and operator are the scopes that a key of that kind needs; "" refuses
	// the kind.
	app, operator postledger.Scope
	// action names the route in the audit trail. Refusals of routes that have
	// one are audited; reading routes have none.
	action string
	// success is the status of an answer that sets none itself; default 200.
	success int
	// maxBody bounds the body in bytes; default 1 MiB.
	maxBody int64
	// unhurried routes read bodies as long as they come, and may wait for the
	// wire; all others have requestTimeout.
	unhurried bool
	// also are the further media types that the body may have.
	also map[string]*huma.MediaType
	// responses are answers beside the first, by status.
	responses map[string]string
	// headers that an answer may have, with what they say.
	headers map[string]string
	// produces is the media type of an answer that is not JSON.
	produces string
	// codes are refusals that are worth knowing before the call.
	codes []Code
}

const defaultBody = 1 << 20

func (rt *route) operation() huma.Operation {
	op := huma.Operation{
		OperationID: rt.id, Method: rt.method, Path: rt.path, Summary: rt.summary, Description: rt.text,
		Tags: []string{rt.tag}, DefaultStatus: rt.success, Security: []map[string][]string{},
		Responses: map[string]*huma.Response{},
	}
	var needs []string
	for _, kind := range []struct {
		name  string
		scope postledger.Scope
	}{{"appKey", rt.app}, {"operatorKey", rt.operator}} {
		if kind.scope != "" {
			op.Security = append(op.Security, map[string][]string{kind.name: {string(kind.scope)}})
			needs = append(needs, fmt.Sprintf("`%s`", kind.scope))
		}
	}
	if len(needs) > 0 {
		op.Description = strings.TrimSpace(op.Description + "\n\nNeeds a key with scope " + strings.Join(needs, " or ") + ".")
	}
	for status, text := range rt.responses {
		op.Responses[status] = &huma.Response{Description: text}
	}
	if rt.produces != "" {
		op.Responses["200"] = &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{
			rt.produces: {Schema: &huma.Schema{Type: huma.TypeString}},
		}}
	}
	return op
}

func (rt *route) public() bool { return rt.app == "" && rt.operator == "" }

// reply is what huma writes.
type reply[T any] struct {
	Status int
	Body   T
}

// none is the answer of a route that has nothing to say.
type none struct{}

// statuser is an answer that decides its status.
type statuser interface{ status() int }

// read registers a route without a body. One that comes all the same is not
// passed over: it would say what nobody does.
func read[I, T any](s *server, rt route, fn func(context.Context, *call, *I) (T, error)) {
	register(s, rt, func(ctx context.Context, c *call, in *I) (T, error) {
		if err := c.noBody(); err != nil {
			var none T
			return none, err
		}
		return fn(ctx, c, in)
	})
}

// write registers a route with a JSON body, which is decoded strictly.
func write[I, B, T any](s *server, rt route, fn func(context.Context, *call, *I, *B) (T, error)) {
	register(s, rt, func(ctx context.Context, c *call, in *I) (T, error) {
		var body B
		if err := c.decodeJSON(&body); err != nil {
			var none T
			return none, err
		}
		return fn(ctx, c, in, &body)
	})
	describeBody[B](s, &rt)
}

// register makes an operation of a handler. What it returns as an error becomes
// a problem document, and a line of the audit trail where the route has an
// action.
func register[I, T any](s *server, rt route, fn func(context.Context, *call, *I) (T, error)) {
	if rt.success == 0 {
		rt.success = http.StatusOK
	}
	if rt.maxBody == 0 {
		rt.maxBody = defaultBody
	}
	op := rt.operation()
	s.routes[rt.method+" "+rt.path] = &rt
	op.Middlewares = huma.Middlewares{s.enter(&rt)}
	serve := func(ctx context.Context, in *I) (T, error) {
		c := callOf(ctx)
		if !rt.unhurried {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, requestTimeout)
			defer cancel()
		}
		body, err := fn(ctx, c, in)
		if err != nil {
			err = s.refuse(ctx, c, problemOf(err))
		}
		return body, err
	}
	if reflect.TypeFor[T]() == reflect.TypeFor[none]() {
		huma.Register(s.api, op, func(ctx context.Context, in *I) (*struct{}, error) {
			_, err := serve(ctx, in)
			return nil, err
		})
	} else {
		huma.Register(s.api, op, func(ctx context.Context, in *I) (*reply[T], error) {
			body, err := serve(ctx, in)
			if err != nil {
				return nil, err
			}
			out := &reply[T]{Status: rt.success, Body: body}
			if st, ok := any(body).(statuser); ok {
				out.Status = st.status()
			}
			return out, nil
		})
	}
	s.documentRoute(&rt)
}

// stream registers an operation that writes its own answer. An error that it
// returns before it has written anything becomes a problem document, as
// everywhere.
func stream(s *server, rt route, fn func(context.Context, *call) error) {
	if rt.maxBody == 0 {
		rt.maxBody = defaultBody
	}
	op := rt.operation()
	s.routes[rt.method+" "+rt.path] = &rt
	op.Middlewares = huma.Middlewares{s.enter(&rt)}
	huma.Register(s.api, op, func(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
		c := callOf(ctx)
		if err := fn(ctx, c); err != nil {
			return nil, s.refuse(ctx, c, problemOf(err))
		}
		return &huma.StreamResponse{Body: func(huma.Context) {}}, nil
	})
	s.documentRoute(&rt)
}

// documentRoute adds what huma does not know of an operation.
func (s *server) documentRoute(rt *route) {
	op := s.operation(rt)
	first := op.Responses[fmt.Sprint(rt.success)]
	for status := range rt.responses {
		op.Responses[status].Content = first.Content
	}
	for name, text := range rt.headers {
		for status, r := range op.Responses {
			if status == "default" {
				continue
			}
			if r.Headers == nil {
				r.Headers = map[string]*huma.Param{}
			}
			r.Headers[name] = &huma.Header{Description: text, Schema: &huma.Schema{Type: huma.TypeString}}
		}
	}
	var codes []string
	for _, c := range rt.codes {
		codes = append(codes, fmt.Sprintf("`%s` (%d)", c, entry(c).Status))
	}
	text := "A problem document."
	if len(codes) > 0 {
		text += " Among the codes: " + strings.Join(codes, ", ") + "."
	}
	op.Responses["default"] = &huma.Response{Description: text, Content: map[string]*huma.MediaType{
		"application/problem+json": {Schema: s.schemas().Schema(reflect.TypeFor[Problem](), true, "")},
	}}
}

// describeBody documents a body. It is done after huma's registration: a body
// that huma knows of is read by huma, whole and leniently.
func describeBody[B any](s *server, rt *route) {
	body := &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"application/json": {Schema: s.schemas().Schema(reflect.TypeFor[B](), true, rt.id+"Request")},
	}}
	for media, t := range rt.also {
		body.Content[media] = t
	}
	s.operation(rt).RequestBody = body
}

func (s *server) schemas() huma.Registry { return s.api.OpenAPI().Components.Schemas }

func (s *server) operation(rt *route) *huma.Operation {
	p := s.api.OpenAPI().Paths[rt.path]
	switch rt.method {
	case http.MethodGet:
		return p.Get
	case http.MethodPut:
		return p.Put
	case http.MethodPost:
		return p.Post
	default:
		return p.Delete
	}
}
