package main_test

import (
	"path/filepath"
	"strings"
	"testing"
)

var audienceTables = []string{
	"CREATE TABLE users (id integer PRIMARY KEY, email varchar(200), name varchar(80), country varchar(2), tenant integer NOT NULL)",
	`INSERT INTO users VALUES (1, 'Mira.Holt@RCV.test', 'Mira', 'NO', 1), (2, 'mira.holt@rcv.test', 'Mira Holt', 'SE', 1), (3, NULL, 'No One', 'NO', 1),
		(4, 'odd', 'Odd', NULL, 1), (5, 'a_b@rcv.test', 'Bo', 'NO', 1), (6, 'theirs@rcv.test', 'Eve', 'NO', 2)`,
}

const audienceFile = `
source: shop
address: email
category: activity
lens:
  from: users
  where: {country: {ne: {param: without}}}
  select: [email, name]
  order: [-id]
  params: {without: {kind: text, default: DK}}
`

func TestAudienceCommands(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := filepath.Join(p.dir, "shop.db")
	execAll(t, "sqlite", "file:"+file, audienceTables...)
	scope := writeFile(t, "scope.yaml", "where: {users: {tenant: {eq: 1}}}\n", 0o600)
	p.env = append(p.env, "POSTLEDGER_SOURCES__SHOP__DSN=sqlite:"+file, "POSTLEDGER_SOURCES__SHOP__APPS=shop", "POSTLEDGER_SOURCES__SHOP__SCOPE="+scope)
	p.run(t, "sources", "check", "shop").expect(t, 0, "is for the apps shop", "there are floors under users")
	p.run(t, "check-config").expect(t, 0, scope)
	s := p.start(t)
	operator := s.operator(t)
	app := s.appKey(t, "shop")
	forum := s.appKey(t, "forum")

	d := writeFile(t, "nordic.yaml", audienceFile, 0o600)
	command(t, app, "audience", "put", "nordic", "--file", d).expect(t, 0, "nordic: saved as version 1")
	command(t, app, "audience", "put", "nordic", "--file", d, "--revision", "0").expect(t, 1, "409 audience_exists")
	command(t, app, "audience", "put", "nordic", "--file", d).expect(t, 0, "saved as version 2")
	command(t, app, "audience", "put", "nordic", "--file", d, "--revision", "1").expect(t, 1, "409 revision_conflict")
	command(t, operator, "audience", "ls", "--app", "shop").expect(t, 0, "nordic", "2", "activity")
	command(t, app, "audience", "ls", "nordic").expect(t, 0, "nordic", "1", "2")
	command(t, forum, "audience", "show", "nordic").expect(t, 1, "404 audience_unknown")
	command(t, forum, "audience", "put", "nordic", "--file", d).expect(t, 1, "invalid_audience", "source is no source that this app may use")
	shown := command(t, app, "audience", "show", "nordic", "--json").expect(t, 0, `"revision": 2`, `"from": "users"`)
	command(t, app, "audience", "show", "nordic", "--revision", "1").expect(t, 0, "version 1", "address   email")
	again := writeFile(t, "again.json", shown.stdout, 0o600)
	command(t, app, "audience", "put", "nordic", "--file", again).expect(t, 0, "saved as version 3")

	command(t, app, "suppressions", "add", "MIRA.holt@rcv.test", "--reason", "asked").expect(t, 0)
	counts := []string{"matched                5\n", "mailable             1\n", "no address           1\n", "invalid              1\n", "duplicate            1\n", "suppressed           1\n"}
	command(t, app, "audience", "count", "nordic").expect(t, 0, counts...)
	command(t, operator, "audience", "count", "nordic", "--app", "shop", "--json").expect(t, 0, `"matched": 5`)
	command(t, app, "audience", "count", "--file", d, "--param", "without=NO").expect(t, 0, "matched                2\n")
	r := command(t, app, "audience", "preview", "nordic").expect(t, 0, append(counts, `{"email":"a_b@rcv.test","name":"Bo"}`)...)
	if strings.Contains(r.stdout, "theirs") || strings.Contains(r.stderr, "masked") {
		t.Errorf("preview: %s%s", r.stdout, r.stderr)
	}
	r = command(t, operator, "audience", "preview", "nordic", "--app", "shop").expect(t, 0, `{"email":"a…@r….test","name":"B…"}`, "Texts are masked")
	if strings.Contains(strings.ToLower(r.stdout), "mira.holt") {
		t.Errorf("an operator sees addresses:\n%s", r.stdout)
	}
	command(t, app, "audience", "explain", "nordic").expect(t, 0, "email, name of users where country is not $without, by id downwards")
	command(t, operator, "audience", "explain", "nordic", "--app", "shop").expect(t, 0, "SELECT", "tenant", "value 1: ")
	command(t, app, "audience", "schema", "nordic").expect(t, 0, `"additionalProperties": false`, `"email"`)

	for where, want := range map[string]string{
		"{}":                       "lens: where: an empty condition",
		"{country: {}}":            "lens: where.country",
		"{contry: {eq: NO}}":       `definition.lens.where.contry table users has no field "contry"`,
		"{country: {eq: null}}":    "lens: where.country.eq",
		"{country: {ne: }}":        "lens: where.country.ne",
		"{country: {not: {lt: }}}": "lens: where.country",
		"{country: {notIn: []}}":   "definition.lens.where.country.notIn",
	} {
		bad := writeFile(t, "bad.yaml", "source: shop\naddress: email\ncategory: activity\nlens: {from: users, select: [email], where: "+where+"}\n", 0o600)
		r := command(t, app, "audience", "count", "--file", bad)
		if r.code == 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %d %s, want %s", where, r.code, r.stderr, want)
		}
	}
	command(t, app, "audience", "count").expect(t, 2, "name a saved audience, or give --file")
	command(t, app, "audience", "count", "nordic", "--param", "x").expect(t, 2, "--param: must be NAME=VALUE")
	command(t, app, "audience", "count", "nordic", "--param", "x=null").expect(t, 1, "params.x")
	command(t, app, "audience", "count", "nordic", "--param", "x=1").expect(t, 1, "params.x no such parameter")
	for text, want := range map[string]string{
		"source: shop\nsource: shop\nlens: {}": "source: is given twice", "lens: {}\nwhere: {}": "lens: from: missing", "source: 7": "source: must be a text",
		"address: email": "lens: is missing", "nothing: x": "nothing: unknown", "- a": "is no group of",
		"source: shop\n---\nsource: other": "something follows the definition",
	} {
		command(t, app, "audience", "put", "x", "--file", writeFile(t, "x.yaml", text, 0o600)).expect(t, 2, "--file: ", want)
	}
	key := s.run(t, "keys", "create", "--app", "shop", "--scopes", "read", "--out", "-").token(t)
	readOnly := []string{"POSTLEDGER_SERVER=" + s.api, "POSTLEDGER_API_KEY=" + key}
	command(t, readOnly, "audience", "put", "nordic", "--file", d).expect(t, 1, "403 forbidden")
	command(t, app, "audience", "rm", "nordic").expect(t, 0, "nordic: removed; its versions stay as ")
	command(t, app, "audience", "count", "nordic").expect(t, 1, "404 audience_unknown")
}

// A floor that does not fit is a fault of the check, and keeps the server from
// reading anything, but not from sending mail.
func TestAFloorThatDoesNotFit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := filepath.Join(p.dir, "shop.db")
	execAll(t, "sqlite", "file:"+file, audienceTables...)
	p.env = append(p.env, "POSTLEDGER_SOURCES__SHOP__DSN=sqlite:"+file, "POSTLEDGER_SOURCES__SHOP__APPS=shop",
		"POSTLEDGER_SOURCES__SHOP__SCOPE="+writeFile(t, "scope.yaml", "where: {users: {tennant: {eq: 1}}}\n", 0o600))
	p.run(t, "sources", "check", "shop").expect(t, 1, "FAULT", `the floor does not fit: scope.users.tennant: table users has no field "tennant"`)
	s := p.start(t)
	s.operator(t)
	app := s.appKey(t, "shop")
	r := command(t, app, "audience", "count", "--file", writeFile(t, "d.yaml", audienceFile, 0o600)).expect(t, 1, "503 source_unavailable")
	if strings.Contains(r.stderr, "tennant") {
		t.Errorf("the floor is told: %s", r.stderr)
	}

	odd := newPlace(t)
	execAll(t, "sqlite", "file:"+filepath.Join(odd.dir, "odd.db"), "CREATE TABLE users (id integer PRIMARY KEY, email text, deleted_at datetime, born date)",
		"INSERT INTO users VALUES (1, 'a@rcv.test', NULL, '2000-01-01'), (2, 'b@rcv.test', 'yesterday', NULL)")
	odd.env = append(odd.env, "POSTLEDGER_SOURCES__SHOP__DSN=sqlite:"+filepath.Join(odd.dir, "odd.db"), "POSTLEDGER_SOURCES__SHOP__APPS=shop",
		"POSTLEDGER_SOURCES__SHOP__SCOPE="+writeFile(t, "scope.yaml", "where: {users: {deleted_at: {isNull: true}, born: {isNull: true}}}\n", 0o600))
	odd.run(t, "sources", "check", "shop").expect(t, 0, "warning", "a floor compares users.deleted_at, where a value is none of its declared type")

	broken := newPlace(t)
	broken.env = append(broken.env, "POSTLEDGER_SOURCES__SHOP__DSN=sqlite:"+file, "POSTLEDGER_SOURCES__SHOP__SCOPE="+writeFile(t, "scope.yaml", "where: {users: {}}\n", 0o600))
	broken.run(t, "serve").expect(t, 1, "sources.shop.scope: ", "where.users: an empty condition is refused")
	broken.run(t, "check-config").expect(t, 2, "sources.shop.scope: ")
}
