package lens_test

import (
	"testing"

	"github.com/postledger/postledger/lens/catalogue"
)

// shopSchema is a small shop with a column of each kind, a secret and a type
// that no kind describes.
func shopSchema(dialect catalogue.Dialect) catalogue.Schema {
	column := func(name string, kind catalogue.Kind) catalogue.SchemaColumn {
		return catalogue.SchemaColumn{Name: name, Kind: kind, Type: string(kind), Nullable: true}
	}
	key := func(name string) catalogue.SchemaColumn {
		return catalogue.SchemaColumn{Name: name, Kind: catalogue.BigInt, Type: "bigint"}
	}
	plan := column("plan", catalogue.Enum)
	plan.Details.Labels = []string{"free", "pro"}
	tags := column("tags", catalogue.Array)
	tags.Details.Element = catalogue.Text
	return catalogue.Schema{Dialect: dialect, Tables: []catalogue.SchemaTable{
		{
			Name: "users", Primary: []string{"id"},
			Columns: []catalogue.SchemaColumn{
				key("id"), column("email", catalogue.Text), column("country", catalogue.Text), column("age", catalogue.Int),
				column("score", catalogue.Float), column("balance", catalogue.Decimal), column("active", catalogue.Bool),
				column("born", catalogue.Date), column("wakes", catalogue.Time), column("seen_at", catalogue.TimestampTZ),
				column("local_at", catalogue.Timestamp), column("ref", catalogue.UUID), column("prefs", catalogue.JSON),
				column("avatar", catalogue.Bytes), plan, tags, column("password", catalogue.Text), column("place", catalogue.Unsupported),
				{Name: "organization_id", Kind: catalogue.BigInt, Type: "bigint", Nullable: true},
			},
			ForeignKeys: []catalogue.ForeignKey{{Name: "o", Columns: []string{"organization_id"}, ToTable: "organizations", To: []string{"id"}}},
		},
		{Name: "organizations", Primary: []string{"id"}, Columns: []catalogue.SchemaColumn{key("id"), column("name", catalogue.Text)}},
		{
			Name: "orders", Primary: []string{"id"},
			Columns:     []catalogue.SchemaColumn{key("id"), key("user_id"), column("total", catalogue.Decimal), column("placed_at", catalogue.TimestampTZ)},
			ForeignKeys: []catalogue.ForeignKey{{Name: "u", Columns: []string{"user_id"}, ToTable: "users", To: []string{"id"}}},
		},
	}}
}

func shop(t *testing.T) *catalogue.Catalogue {
	t.Helper()
	return shopOf(t, catalogue.PostgreSQL)
}

func shopOf(t *testing.T, dialect catalogue.Dialect) *catalogue.Catalogue {
	t.Helper()
	c, err := catalogue.Build(shopSchema(dialect), catalogue.Model{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
