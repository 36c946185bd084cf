package catalogue_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/postledger/postledger/lens/catalogue"
)

func column(name string, kind catalogue.Kind) catalogue.SchemaColumn {
	return catalogue.SchemaColumn{Name: name, Kind: kind, Type: string(kind)}
}

// shop has two foreign keys from orders to users, one to itself, a secret, and
// a table in the middle.
func shop() catalogue.Schema {
	return catalogue.Schema{Dialect: catalogue.PostgreSQL, Default: "public", Tables: []catalogue.SchemaTable{
		{
			Schema: "public", Name: "users", Primary: []string{"id"}, Unique: [][]string{{"email"}, {"nick"}},
			Columns: []catalogue.SchemaColumn{
				column("id", catalogue.BigInt), column("email", catalogue.Text),
				{Name: "nick", Kind: catalogue.Text, Nullable: true},
				column("password_hash", catalogue.Text), column("organization_id", catalogue.BigInt), column("manager_id", catalogue.BigInt),
				column("bad name", catalogue.Text),
			},
			ForeignKeys: []catalogue.ForeignKey{
				{Name: "org", Columns: []string{"organization_id"}, ToSchema: "public", ToTable: "organizations", To: []string{"id"}},
				{Name: "boss", Columns: []string{"manager_id"}, ToSchema: "public", ToTable: "users", To: []string{"id"}},
			},
		},
		{Schema: "public", Name: "organizations", Primary: []string{"id"}, Columns: []catalogue.SchemaColumn{column("id", catalogue.BigInt)}},
		{
			Schema: "public", Name: "orders", Primary: []string{"id"},
			Columns: []catalogue.SchemaColumn{column("id", catalogue.BigInt), column("buyer_id", catalogue.BigInt), column("seller_id", catalogue.BigInt)},
			ForeignKeys: []catalogue.ForeignKey{
				{Name: "b", Columns: []string{"buyer_id"}, ToSchema: "public", ToTable: "users", To: []string{"id"}},
				{Name: "s", Columns: []string{"seller_id"}, ToSchema: "public", ToTable: "users", To: []string{"id"}},
			},
		},
		{Schema: "public", Name: "tags", Primary: []string{"id"}, Columns: []catalogue.SchemaColumn{column("id", catalogue.BigInt), column("label", catalogue.Text)}},
		{Schema: "public", Name: "user_tags", Columns: []catalogue.SchemaColumn{column("user_id", catalogue.BigInt), column("tag_id", catalogue.BigInt)}},
		{Schema: "public", Name: "comments", Columns: []catalogue.SchemaColumn{column("on_id", catalogue.BigInt), column("on_type", catalogue.Text)}},
		{Schema: "sales", Name: "leads", Columns: []catalogue.SchemaColumn{column("id", catalogue.BigInt)}},
	}}
}

func build(t *testing.T, model string) (*catalogue.Catalogue, error) {
	t.Helper()
	m, err := catalogue.ParseModel([]byte(model))
	if err != nil {
		return nil, err
	}
	return catalogue.Build(shop(), m)
}

func names(t *testing.T, c *catalogue.Catalogue, table string) []string {
	t.Helper()
	found, ok := c.Table(table)
	if !ok {
		t.Fatalf("no table %s", table)
	}
	var all []string
	for _, r := range found.Relations() {
		all = append(all, r.Name)
	}
	return all
}

func TestRelationsFromForeignKeys(t *testing.T) {
	t.Parallel()
	c, err := build(t, "")
	if err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string][]string{
		"users":         {"manager", "orders_buyer", "orders_seller", "organization", "users_manager"},
		"organizations": {"users"},
		"orders":        {"buyer", "seller"},
		"sales_leads":   nil,
	} {
		if got := names(t, c, table); !slices.Equal(got, want) {
			t.Errorf("relations of %s: %v, want %v", table, got, want)
		}
	}
	users, _ := c.Table("users")
	if r, _ := users.Relation("organization"); r.Many {
		t.Error("a foreign key leads to one row")
	}
	if r, _ := users.Relation("orders_buyer"); !r.Many {
		t.Error("a foreign key leads back to many rows")
	}
	if !users.Unique([]string{"email"}) || users.Unique([]string{"nick"}) || !users.Unique([]string{"id", "nick"}) {
		t.Errorf("keys %v: a unique key that may be null is none", users.Keys)
	}
	if !slices.ContainsFunc(c.Notes, func(n string) bool { return strings.Contains(n, "bad name") }) {
		t.Errorf("notes %v: nothing says that a column cannot be named", c.Notes)
	}
}

func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"password": true, "user_password": true, "passwordHash": true, "resetToken": true, "APIKey": true, "api_key": true,
		"stripe_secret_2": true, "ssn": true, "SSN": true, "sha256hash": true, "otpSecret": true, "x-token": true, "HTTPToken": true,
		"compassion": false, "tokenizer": false, "hashtag": false, "assn": false, "keyboard": false, "id": false, "email": false,
		"passwordhash": true, "userpassword": true, "passwordhashes": true, "resettoken": true, "accesstoken": true, "authtokens": true, "clientsecret": true,
		"sessioncookie": true, "userapikey": true, "socialsecuritynumber": true, "api_keys": true, "apiKeys": true, "auth_key": true, "authKeys": true,
		"pw": true, "user_pw": true, "pass": true, "db_pass": true, "hashes": true, "pins": true, "ssns": true, "IBANs": true, "backup_codes": true,
		"session_ids": true, "taxIds": true, "token_count": true, "passwd2": true, "pwds": true, "userpwd": true, "creditcard_last4": true,
		"compass": false, "compasses": false, "passenger": false, "passengers": false, "passed": false, "passing": false, "bypass": false, "trespass": false,
		"tokenized": false, "tokenizers": false, "hashtags": false, "spin": false, "spins": false, "hairpin": false, "company": false, "pans_labyrinth": true,
		"basalt": false, "digestion": false, "announced": false, "japan": false, "span": false, "cookies_ok": true, "ship_in": false, "tax_idea": false,
		"secretary": false, "opinion": false, "spinning": false, "saltwater": false, "passport_country": false,
	} {
		if _, got := catalogue.Secret(name); got != want {
			t.Errorf("Secret(%q) = %v", name, got)
		}
	}
	c, err := build(t, "tables: {users: {columns: {nick: {hide: true}}}}")
	if err != nil {
		t.Fatal(err)
	}
	users, _ := c.Table("users")
	for name, want := range map[string]bool{"password_hash": true, "nick": true, "email": false} {
		if column, _ := users.Column(name); column.Hidden != want {
			t.Errorf("%s hidden: %v", name, column.Hidden)
		}
	}
	c, err = build(t, "tables: {users: {columns: {password_hash: {allow: true}}}}")
	if err != nil {
		t.Fatal(err)
	}
	users, _ = c.Table("users")
	if column, _ := users.Column("password_hash"); column.Hidden {
		t.Error("the model allowed it")
	}
}

func TestKeysAreNoSecrets(t *testing.T) {
	t.Parallel()
	schema := catalogue.Schema{Tables: []catalogue.SchemaTable{{
		Name: "sessions", Primary: []string{"token"},
		Columns: []catalogue.SchemaColumn{column("token", catalogue.Text), column("secret", catalogue.Text)},
	}}}
	c, err := catalogue.Build(schema, catalogue.Model{})
	if err != nil {
		t.Fatal(err)
	}
	sessions, _ := c.Table("sessions")
	for name, want := range map[string]bool{"token": false, "secret": true} {
		if column, _ := sessions.Column(name); column.Hidden != want {
			t.Errorf("%s hidden: %v", name, column.Hidden)
		}
	}
}

func TestModel(t *testing.T) {
	t.Parallel()
	c, err := build(t, `
tables:
  users:
    name: people
    columns: {bad name: {name: title}}
    relations:
      organization: {rename: employer}
      people_manager: {hide: true}
      tags: {to: tags, through: {table: user_tags, on: {id: user_id}, to: {tag_id: id}}}
      comments: {to: comments, many: true, on: {id: on_id}, where_to: {on_type: User}}
  sales.leads: {key: [id]}
  orders: {hide: true}
`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(t, c, "people"), []string{"comments", "employer", "manager", "tags"}; !slices.Equal(got, want) {
		t.Errorf("relations %v, want %v", got, want)
	}
	if _, found := c.Table("orders"); found {
		t.Error("a hidden table is there")
	}
	people, _ := c.Table("people")
	if column, _ := people.Column("title"); column == nil || column.Hidden || column.SQLName != "bad name" {
		t.Errorf("title: %+v", column)
	}
	tags, _ := people.Relation("tags")
	if len(tags.Hops) != 2 || !tags.Many || tags.Hops[1].Pairs[0].Left.SQLName != "tag_id" {
		t.Errorf("tags: %+v", tags)
	}
	comments, _ := people.Relation("comments")
	if fixed := comments.Hops[0].Fixed; len(fixed) != 1 || fixed[0].Left || fixed[0].Value != "User" {
		t.Errorf("comments: %+v", comments.Hops)
	}
	leads, _ := c.Table("sales_leads")
	if !leads.Unique([]string{"id"}) {
		t.Error("the model's key is none")
	}
}

func TestModelFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ model, want string }{
		"unknown key":        {"tables: {users: {nam: x}}", "field nam not found"},
		"two documents":      {"tables: {}\n---\ntables: {}", "one document"},
		"no such table":      {"tables: {user: {hide: true}}", "tables.user: the database has no such table"},
		"no such encoding":   {"tables: {users: {columns: {id: {encoding: unix}}}}", `tables.users.columns.id.encoding: "unix" is not an encoding: unix_seconds`},
		"encoded as another": {"tables: {users: {columns: {id: {encoding: unix_millis, kind: date}}}}", "tables.users.columns.id.encoding: only an instant (timestamptz)"},
		"encoded text":       {"tables: {users: {columns: {email: {encoding: unix_millis}}}}", "tables.users.columns.email.encoding: a column of type text (text) holds no whole numbers"},
		"SQLite's alone":     {"tables: {users: {columns: {email: {encoding: go_time}}}}", "tables.users.columns.email.encoding: go_time is for SQLite only"},
		"no such column":     {"tables: {users: {columns: {mail: {hide: true}}}}", "tables.users.columns.mail: the table has no such column"},
		"no such relation":   {"tables: {users: {relations: {boss: {hide: true}}}}", "tables.users.relations.boss: the table has no such relation"},
		"name of another":    {"tables: {users: {name: orders}}", "another table is called orders"},
		"reserved name":      {"tables: {users: {columns: {email: {name: everyone}}}}", "is not a name"},
		"not a name":         {"tables: {users: {name: a.b}}", "is not a name"},
		"hidden and allowed": {"tables: {users: {columns: {email: {hide: true, allow: true}}}}", "both hidden and allowed"},
		"a kind it is not":   {"tables: {users: {columns: {email: {kind: int}}}}", "cannot be read as int"},
		"no kind":            {"tables: {users: {columns: {email: {kind: mail}}}}", "is not a kind"},
		"text joins number":  {"tables: {users: {relations: {x: {to: tags, on: {email: id}}}}}", "text cannot be equal to bigint"},
		"relation to hidden": {"tables: {tags: {hide: true}, users: {relations: {x: {to: tags, on: {id: id}}}}}", `no table "tags"`},
		"relation on a name": {"tables: {users: {relations: {email: {to: tags, on: {id: id}}}}}", "a column is called email"},
		"no pairs":           {"tables: {users: {relations: {x: {to: tags}}}}", "must pair columns"},
		"key of nothing":     {"tables: {tags: {key: [x]}}", `no column "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := build(t, test.model); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
