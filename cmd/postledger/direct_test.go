package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckConfig(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	key := p.run(t, "keys", "encryption", "--out", "-").token(t)
	keyFile := filepath.Join(p.dir, "new.key")
	p.run(t, "keys", "encryption", "--out", keyFile).expect(t, 0, "written to")
	p.run(t, "keys", "encryption", "--out", keyFile).expect(t, 1, "exists")
	good := writeFile(t, "good.yaml", "database: postgres://u:S3cr3t@db/x\nencryption_key: "+key+"\nolder_encryption_keys: ['file:"+keyFile+"']\n", 0o600)
	r := command(t, nil, "check-config", "--config", good).expect(t, 0, "postgres://u:xxxxx@db/x", "[secret]", "file:"+keyFile)
	if strings.Contains(r.stdout, key) || strings.Contains(r.stdout, "S3cr3t") {
		t.Error("a secret is printed")
	}
	bad := writeFile(t, "bad.yaml", "htpp: x\n", 0o600)
	command(t, nil, "check-config", "--config", bad).expect(t, 2, "htpp: is no key", "did you mean http?")
	command(t, []string{"POSTLEDGER_CONFIG=" + bad}, "serve").expect(t, 2, "htpp: is no key")
	noKey := writeFile(t, "nokey.yaml", "database: postgres://db/x\n", 0o600)
	command(t, nil, "check-config", "--config", noKey).expect(t, 2, "encryption_key: is not set")
	if err := os.Chmod(keyFile, 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, nil, "check-config", "--config", good).expect(t, 2, "older_encryption_keys[0]", "0644")
}

func TestMigrations(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, args := range [][]string{{"migrate", "status"}, {"books"}, {"keys", "ls"}, {"restored"}, {"backup", "--out", "x"}} {
		p.run(t, args...).expect(t, 1, "there is no ledger at this path")
	}
	if _, err := os.Stat(p.database()); err == nil {
		t.Fatal("a command that only looks has made a ledger")
	}
	p.run(t, "migrate", "up").expect(t, 0, "applied")
	p.run(t, "migrate", "up").expect(t, 0, "applied")
	p.run(t, "migrate", "status").expect(t, 0, "applied")
	p.run(t, "migrate", "down").expect(t, 0, "missing")
	p.run(t, "migrate", "status").expect(t, 1, "missing")
	p.run(t, "keys", "ls").expect(t, 1, "migrate up")
	p.run(t, "migrate", "up").expect(t, 0, "applied")
	info, err := os.Stat(p.database())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	operator := p.run(t, "keys", "create", "--operator", "--out", "-").token(t)
	if !strings.HasPrefix(operator, "pl_op_") {
		t.Errorf("%q", operator)
	}
	p.run(t, "keys", "create", "--app", "shop", "--out", "-").expect(t, 1, `there is no app "shop"`)
	p.run(t, "keys", "create", "--app", "Shop!", "--new-app", "--out", "-").expect(t, 2, "--app: a name has")
	file := filepath.Join(p.dir, "shop.key")
	p.run(t, "keys", "create", "--app", "shop", "--new-app", "--name", "till", "--expires-in", "1h", "--out", file).expect(t, 0, "written to")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	// A key whose file cannot be written does not exist.
	p.run(t, "keys", "create", "--app", "shop", "--name", "lost", "--out", file).expect(t, 1, "exists")
	r := p.run(t, "keys", "ls", "--app", "shop").expect(t, 0, "till", "send,read", "good")
	if strings.Contains(r.stdout, "lost") || strings.Count(r.stdout, "\n") != 2 {
		t.Errorf("%s", r.stdout)
	}
	id := strings.Fields(strings.Split(r.stdout, "\n")[1])[0]
	p.run(t, "keys", "revoke", id).expect(t, 0)
	p.run(t, "keys", "revoke", id).expect(t, 0)
	p.run(t, "keys", "ls", "--app", "shop").expect(t, 0, "revoked")
	p.run(t, "keys", "revoke", "01890000-0000-7000-8000-000000000000").expect(t, 1, "no such API key")
	p.run(t, "keys", "ls", "--app", "none").expect(t, 1, "no such app")
	p.run(t, "keys", "ls", "--json").expect(t, 0, `"name": "cli"`)
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.run(t, "doctor").expect(t, 1, "there is no ledger at this path")
	s := p.start(t)
	operator := s.operator(t)
	p.run(t, "doctor").expect(t, 0, "profiles", "there are none yet")
	command(t, operator, "profiles", "put", "box", "--from", "a@example.org", "--transport", "sandbox").expect(t, 0)
	p.run(t, "doctor").expect(t, 0, "profile box, next hop", "is ready: the sandbox")
	command(t, operator, "profiles", "put", "away", "--from", "a@example.org", "--transport", "smtp", "--host", "127.0.0.1", "--port", "1", "--tls", "none").expect(t, 0)
	p.run(t, "doctor", "--no-dns").expect(t, 1, "FAULT", "profile away, next hop", "unavailable at connect")
	p.run(t, "doctor", "--no-dns", "--no-login", "--json").expect(t, 0, "no login was tried", `"ok": true`)
	command(t, operator, "profiles", "put", "away", "--quota-per-day", "0").expect(t, 0)
	p.run(t, "doctor", "--no-dns", "--no-login").expect(t, 0, "warning", "profile away, limits", "quota_per_day is 0")
	command(t, operator, "profiles", "pause", "away", "--reason", "maintenance").expect(t, 0)
	p.run(t, "doctor", "--no-dns", "--no-login").expect(t, 1, "FAULT", "profile away, waiting", "(maintenance); nothing waits")
	s.signal(t, 15)

	wrong := p
	wrong.env = append([]string{}, p.env...)
	wrong.env = append(wrong.env, "POSTLEDGER_ENCRYPTION_KEY="+p.run(t, "keys", "encryption", "--out", "-").token(t), "POSTLEDGER_JOURNAL_DIR=/proc/journal")
	wrong.run(t, "doctor").expect(t, 1, "journal directory /proc/journal", "cannot be written")
}

func TestReseal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t)
	operator := s.operator(t)
	password := writeFile(t, "password", "S3cr3t\n", 0o600)
	command(t, operator, "profiles", "put", "relay", "--from", "a@example.org", "--transport", "smtp",
		"--host", "127.0.0.1", "--port", "1", "--tls", "required", "--username", "u", "--password-file", password).expect(t, 0)
	if code := s.signal(t, 15); code != 0 {
		t.Fatal(code)
	}
	older := "file:" + filepath.Join(p.dir, "encryption.key")
	key := p.run(t, "keys", "encryption", "--out", "-").token(t)
	alone := place{p.dir, append(append([]string{}, p.env...), "POSTLEDGER_ENCRYPTION_KEY="+key)}
	both := place{p.dir, append(append([]string{}, alone.env...), "POSTLEDGER_OLDER_ENCRYPTION_KEYS="+older)}
	alone.run(t, "reseal").expect(t, 1, "profile relay", "not in the keyring")
	alone.run(t, "doctor", "--no-login").expect(t, 1, "not in the keyring")
	both.run(t, "reseal").expect(t, 0, "resealed the secrets of 1 profiles")
	both.run(t, "reseal").expect(t, 0, "resealed the secrets of 0 profiles")
	alone.run(t, "doctor", "--no-login").expect(t, 0, "can be used")
}
