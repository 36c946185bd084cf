package api

import (
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/postledger/postledger"
)

// server is the API with what it works with.
type server struct {
	Config
	mux    *http.ServeMux
	api    huma.API
	routes map[string]*route

	keys     *keyCache
	rates    *buckets
	failures *failures
	memory   *semaphore.Weighted
	types    *members
	document []byte
	page     []byte
}

// New makes the API's handler.
func New(c Config) (http.Handler, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	s := build(c)
	if s.document, err = s.render(); err != nil {
		return nil, err
	}
	if s.page, err = s.docs(); err != nil {
		return nil, err
	}
	return s, nil
}

// build registers every route. It calls nothing of the configuration, so that
// the document can be made without a server.
func build(c Config) *server {
	s := &server{
		Config: c.optional(), mux: http.NewServeMux(), routes: map[string]*route{}, types: new(members),
	}
	s.keys = newKeyCache(s.Now)
	s.rates = newBuckets(rate.Limit(max(1, c.KeyRate)), max(1, c.KeyBurst), s.Now)
	s.failures = newFailures(s.Now)
	s.memory = semaphore.NewWeighted(s.BodyMemory)
	s.api = humago.New(s.mux, s.humaConfig())
	s.schemas().RegisterTypeAlias(reflect.TypeFor[postledger.ID](), reflect.TypeFor[uuid]())
	s.postMessageRoute()
	s.postBatchRoute()
	s.listMessagesRoute()
	s.getMessageRoute()
	s.getContentRoute()
	s.cancelRoutes()
	s.resendRoute()
	s.sandboxRoutes()
	s.listDeliveriesRoute()
	s.resolveRoute()
	s.statsRoute()
	s.appRoutes()
	s.keyRoutes()
	s.profileRoutes()
	s.grantRoutes()
	s.suppressionRoutes()
	s.audienceRoutes()
	s.webhookRoutes()
	s.settingRoutes()
	s.jobRoutes()
	s.scheduleRoutes()
	s.auditRoute()
	s.publicRoutes()
	s.tidySchemas()
	return s
}

func (s *server) humaConfig() huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Postledger", Version: Version, Description: introduction,
				License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Tags: tags(),
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"appKey":      {Type: "http", Scheme: "bearer", Description: "A key of an app (`pl_app_…`); it sees that app only."},
					"operatorKey": {Type: "http", Scheme: "bearer", Description: "A key of an operator (`pl_op_…`)."},
				},
			},
		},
		Formats:                      map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{s.transform},
	}
}

// uuid is how the document shows an id.
type uuid struct{}

// Schema is a UUID's.
func (uuid) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "uuid"}
}

// tidySchemas makes the document say what is so: no list is ever null, and
// what huma has of its own refusals is never answered.
func (s *server) tidySchemas() {
	m := s.schemas().Map()
	delete(m, "ErrorModel")
	delete(m, "ErrorDetail")
	seen := map[*huma.Schema]bool{}
	for _, schema := range m {
		tidy(schema, seen)
	}
	for _, rt := range s.routes {
		for _, p := range s.operation(rt).Parameters {
			tidy(p.Schema, seen)
		}
	}
}

func tidy(s *huma.Schema, seen map[*huma.Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	s.Nullable = false
	tidy(s.Items, seen)
	for _, p := range s.Properties {
		tidy(p, seen)
	}
	if extra, ok := s.AdditionalProperties.(*huma.Schema); ok {
		tidy(extra, seen)
	}
	slices.Sort(s.Required)
}
