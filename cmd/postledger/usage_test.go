package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/ledger"
)

// Every command refuses what it does not understand with exit code 2 and
// changes nothing; none of these reaches a server or a database.
func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	none := []string{"POSTLEDGER_API_KEY=pl_app_x", "POSTLEDGER_SERVER=http://127.0.0.1:1"}
	page := writeFile(t, "page.html", "<p>", 0o600)
	readable := writeFile(t, "password", "x", 0o644)
	tests := map[string]struct {
		args string
		says string
	}{
		"no command":                  {"", "expected one of"},
		"an unknown command":          {"sned", "unexpected argument sned, did you mean"},
		"an unknown flag":             {"serve --fast", "unknown flag --fast"},
		"serve, argument":             {"serve x", "unexpected argument x"},
		"a missing configuration":     {"check-config --config /nowhere.yaml", "/nowhere.yaml"},
		"migrate alone":               {"migrate", "expected one of"},
		"keys create for nobody":      {"keys create", "--operator"},
		"keys create for both":        {"keys create --operator --app a", "can't be used together"},
		"keys create, app's scope":    {"keys create --app a --scopes admin --out -", `"admin" is not a scope of an app's key`},
		"keys create, other's scope":  {"keys create --operator --scopes send --out -", `"send" is not a scope of an operator's key`},
		"keys create, new operator":   {"keys create --operator --new-app --out -", "--new-app: needs --app"},
		"keys create into a pipe":     {"keys create --operator", "would go into a pipe"},
		"keys create, no time":        {"keys create --operator --expires-in soon --out -", "expires-in"},
		"keys create, past":           {"keys create --operator --expires-in=-1h --out -", "must not be negative"},
		"keys create, no name":        {"keys create --operator --name= --out -", "--name: is empty"},
		"keys create, control":        {"keys create --operator --name=a\x01b --out -", "--name: holds a control character"},
		"messages ls, bad time":       {"messages ls --since x", "--since: want a time such as"},
		"keys revoke, no id":          {"keys revoke 1", "not a UUID"},
		"keys encryption into a pipe": {"keys encryption", "would go into a pipe"},
		"keys dkim, no file":          {"keys dkim --domain a.example --selector s", "--out"},
		"keys dkim, bad domain":       {"keys dkim --domain a..example --selector s --out /nowhere/x", "domain: has an empty"},
		"restored, no time":           {"restored --at yesterday", "--at: want a time"},
		"send to nobody":              {"send --subject x", "at least one recipient"},
		"send, bad recipient":         {"send --to Ada<", "neither an address nor Name <address>"},
		"send, bad header":            {"send --to a@example.com --header X", "is not Name: value"},
		"send, missing file":          {"send --to a@example.com --attach /nowhere", "/nowhere"},
		"send, bad time":              {"send --to a@example.com --send-at tomorrow", "--send-at: want a time such as"},
		"send, bad lane":              {"send --to a@example.com --lane slow", "lane"},
		"send, bad server":            {"send --to a@example.com --server ftp://x", "base URL: want http"},
		"batch of nothing":            {"batch", "<file>"},
		"batch of a missing file":     {"batch /nowhere", "/nowhere"},
		"batch of stdin, unnamed":     {"batch -", "--name: is needed"},
		"batch, long name":            {"batch " + page + " --name " + strings.Repeat("x", 300), "name: want 1 to 230 bytes"},
		"messages alone":              {"messages", "expected one of"},
		"messages ls, bad state":      {"messages ls --status gone", `"gone" is not one of`},
		"messages ls, bad app":        {"messages ls --app shop", "--app: not a UUID"},
		"messages ls, bad limit":      {"messages ls --limit=-1", "must not be negative"},
		"messages show, no id":        {"messages show 7", "id: not a UUID"},
		"messages cancel everything":  {"messages cancel", "nothing was chosen"},
		"messages resend, no id":      {"messages resend x", "id: not a UUID"},
		"messages resend, delivery":   {"messages resend 01890000-0000-7000-8000-000000000000 --delivery x", "--delivery: not a UUID"},
		"messages resolve, how":       {"messages resolve --all", "--sent"},
		"messages resolve both ways":  {"messages resolve --all --sent --resend", "can't be used together"},
		"messages resolve, state":     {"messages resolve --all --sent --status sent", "only unconfirmed"},
		"messages resolve everything": {"messages resolve --sent", "nothing was chosen"},
		"deliveries ls, message":      {"deliveries ls --message x", "--message: not a UUID"},
		"profiles put, file":          {"profiles put p --file /nowhere", "/nowhere"},
		"profiles put, both":          {"profiles put p --password-file x --no-password", "can't be used together"},
		"profiles put, number":        {"profiles put p --connections many", "connections"},
		"profiles test-send":          {"profiles test-send p", "--app"},
		"suppressions add":            {"suppressions add a@example.com", "--reason"},
		"audit ls, app":               {"audit ls --app x", "--app: not a UUID"},
		"stats, lane":                 {"stats --lane x", "lane"},
		"apps create":                 {"apps create", "<name>"},
		"grants put":                  {"grants put shop", "<profile>"},
		"backup, argument":            {"backup x", "unexpected argument"},
		"openapi, argument":           {"openapi x", "unexpected argument"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command(t, none, strings.Fields(tt.args)...).expect(t, 2, tt.says)
		})
	}
	t.Run("no key", func(t *testing.T) {
		t.Parallel()
		command(t, nil, "apps", "ls").expect(t, 2, "there is no API key", "postledger/credentials")
	})
	t.Run("a key that others may read", func(t *testing.T) {
		t.Parallel()
		command(t, nil, "apps", "ls", "--credentials", readable).expect(t, 2, "0644", "0600")
	})
	t.Run("a bad kill point", func(t *testing.T) {
		t.Parallel()
		newPlace(t, "POSTLEDGER_KILL_AT=nowhere:1").run(t, "serve").expect(t, 2, "POSTLEDGER_KILL_AT", "accept_committed")
	})
}

// A variable that is not set must not choose more, nor send less protected, than
// was meant: invariants 1 and 11.
func TestAnEmptyFlagIsNoFlag(t *testing.T) {
	t.Parallel()
	none := []string{"POSTLEDGER_API_KEY=pl_app_x", "POSTLEDGER_SERVER=http://127.0.0.1:1"}
	const id = "01890000-0000-7000-8000-000000000000"
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"send, key":             {[]string{"send", "--to", "a@example.com", "--text", "x", "--key", ""}, "--key: is empty"},
		"send, profile":         {[]string{"send", "--to", "a@example.com", "--text", "x", "--profile="}, "--profile: is empty"},
		"send, one of two":      {[]string{"send", "--to", "a@example.com", "--to", "", "--text", "x"}, "--to: is empty"},
		"batch, name":           {[]string{"batch", "-", "--name", ""}, "--name: is empty"},
		"cancel, argument":      {[]string{"messages", "cancel", "", "--lane", "bulk"}, "is empty"},
		"cancel, profile":       {[]string{"messages", "cancel", "--lane", "bulk", "--profile", ""}, "--profile: is empty"},
		"resolve, app":          {[]string{"messages", "resolve", "--resend", "--reason", "restored", "--app", ""}, "--app: is empty"},
		"resolve, recipient":    {[]string{"messages", "resolve", "--resend", "--reason", "restored", "--recipient", ""}, "--recipient: is empty"},
		"resolve, reason":       {[]string{"messages", "resolve", "--sent", "--lane", "bulk", "--reason", ""}, "--reason: is empty"},
		"resolve, lane":         {[]string{"messages", "resolve", "--sent", "--reason", "restored", "--lane", ""}, "--lane: is empty"},
		"resolve, states":       {[]string{"messages", "resolve", "--sent", "--all", "--status", ""}, "--status: is empty"},
		"resend, key":           {[]string{"messages", "resend", id, "--key", ""}, "--key: is empty"},
		"resend, delivery":      {[]string{"messages", "resend", id, "--delivery", ""}, "--delivery: is empty"},
		"restored, time":        {[]string{"restored", "--at", ""}, "--at: is empty"},
		"keys create, app":      {[]string{"keys", "create", "--app", "", "--out", "-"}, "--app: is empty"},
		"keys create, scopes":   {[]string{"keys", "create", "--app", "a", "--scopes", "", "--out", "-"}, "--scopes: is empty"},
		"a part of a profile":   {[]string{"profiles", "put", "p", "--password-file", ""}, "--password-file: is empty"},
		"where nothing is left": {[]string{"messages", "cancel", "--profile", ""}, "--profile: is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command(t, none, tt.args...).expect(t, 2, tt.says)
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	command(t, nil, "--help").expect(t, 0, "Exit codes: 0 done", "quickstart", "serve", "books")
	command(t, nil, "profiles", "put", "--help").expect(t, 0, "--password-file")
	command(t, nil, "version").expect(t, 0, "postledger ", fmt.Sprintf("schema %d", ledger.SchemaVersion))
	command(t, nil, "version", "--json").expect(t, 0, fmt.Sprintf(`"schema": %d`, ledger.SchemaVersion))
	command(t, nil, "openapi").expect(t, 0, `"openapi": "3.1`, "/v1/messages")
}

func TestVerifyCommands(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	if command(t, nil, "reference").expect(t, 0).stdout != string(doc) {
		t.Error("docs/commands.md is out of date: go run ./cmd/postledger reference > docs/commands.md")
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	env := []string{"POSTLEDGER_API_KEY=pl_app_x", "POSTLEDGER_SERVER=http://127.0.0.1:1"}
	r := command(t, env, "send", "--to", "a@example.com", "--subject", "x", "--text", "x").expect(t, 1, "no answer", "Repeat it with --key ")
	if strings.Contains(r.stderr, "pl_app_x") {
		t.Error("the key is printed")
	}
}
