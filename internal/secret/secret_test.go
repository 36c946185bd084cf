package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/postledger/postledger/internal/secret"
)

func ring(t testing.TB, keys ...string) *secret.Keyring {
	t.Helper()
	k, err := secret.ParseKeyring(strings.Join(keys, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSealOpen(t *testing.T) {
	k := ring(t, secret.Generate())
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		binding := rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "binding")
		box := k.Seal(plain, binding...)
		if len(box) != len(plain)+secret.Overhead {
			t.Fatalf("box of %d bytes has %d", len(plain), len(box))
		}
		got, err := k.Open(box, binding...)
		if err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("Open = %q, %v; want %q", got, err, plain)
		}
		if bytes.Equal(box, k.Seal(plain, binding...)) {
			t.Fatal("two boxes of one text are equal")
		}
		other := rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "other")
		if fmt.Sprintf("%q", other) != fmt.Sprintf("%q", binding) {
			if _, err := k.Open(box, other...); !errors.Is(err, secret.ErrClosed) {
				t.Fatalf("box of %q opens for %q: %v", binding, other, err)
			}
		}
	})
}

func TestBindingIsAList(t *testing.T) {
	k := ring(t, secret.Generate())
	box := k.Seal([]byte("pw"), "row-1", "smtp.in.test")
	for _, binding := range [][]string{
		nil,
		{"row-1"},
		{"smtp.in.test", "row-1"},
		{"row-1smtp.in.test"},
		{"row-", "1smtp.in.test"},
		{"row-1", "smtp.in.test", ""},
		{"", "row-1", "smtp.in.test"},
		{"row-2", "smtp.in.test"},
		{"row-1", "smtp.evil.test"},
	} {
		if got, err := k.Open(box, binding...); !errors.Is(err, secret.ErrClosed) || got != nil {
			t.Errorf("Open with %q = %q, %v", binding, got, err)
		}
	}
}

func TestOpenRefusesDamage(t *testing.T) {
	k := ring(t, secret.Generate())
	box := k.Seal([]byte("correct horse"), "row-1")
	for i := range len(box) {
		if _, err := k.Open(box[:i], "row-1"); !errors.Is(err, secret.ErrClosed) {
			t.Errorf("box cut to %d bytes: %v", i, err)
		}
		for _, bit := range []byte{0x01, 0x80} {
			bad := bytes.Clone(box)
			bad[i] ^= bit
			want := secret.ErrClosed
			if 1 <= i && i <= 8 {
				want = secret.ErrKeyUnknown
			}
			if _, err := k.Open(bad, "row-1"); !errors.Is(err, want) {
				t.Errorf("byte %d flipped: %v, want %v", i, err, want)
			}
		}
	}
	if _, err := k.Open(append(bytes.Clone(box), 0), "row-1"); !errors.Is(err, secret.ErrClosed) {
		t.Errorf("box with a byte more: %v", err)
	}
}

func TestRotation(t *testing.T) {
	oldKey, newKey := secret.Generate(), secret.Generate()
	before, during, after := ring(t, oldKey), ring(t, "# new one first", newKey, "", oldKey), ring(t, newKey)
	box := before.Seal([]byte("pw"), "row-1")
	if before.NeedsReseal(box) || !during.NeedsReseal(box) || !during.NeedsReseal(nil) {
		t.Error("NeedsReseal does not follow the current key")
	}
	plain, err := during.Open(box, "row-1")
	if err != nil || string(plain) != "pw" {
		t.Fatalf("older key: %q, %v", plain, err)
	}
	fresh := during.Seal(plain, "row-1")
	if during.NeedsReseal(fresh) {
		t.Error("fresh box needs a reseal")
	}
	if got, err := after.Open(fresh, "row-1"); err != nil || string(got) != "pw" {
		t.Errorf("after rotation: %q, %v", got, err)
	}
	if _, err := after.Open(box, "row-1"); !errors.Is(err, secret.ErrKeyUnknown) {
		t.Errorf("removed key: %v", err)
	}
}

func TestParseKeyringRefuses(t *testing.T) {
	key := secret.Generate()
	short := base64.StdEncoding.EncodeToString(make([]byte, 31))
	for _, tt := range []struct{ in, want string }{
		{"", "empty"},
		{"\n# nothing\n", "empty"},
		{key[:43], "line 1 is not base64"},
		{key + "\n" + strings.Repeat("*", 44), "line 2 is not base64"},
		{short, "line 1 has 31 bytes, not 32"},
		{"hunter2!", "line 1 is not base64"},
		{key + "\n\n" + key, "line 3 is there twice"},
	} {
		_, err := secret.ParseKeyring(tt.in)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), key[:16]) {
			t.Errorf("error shows the key: %v", err)
		}
	}
}

func TestLoadKeyring(t *testing.T) {
	dir := t.TempDir()
	key := secret.Generate()
	path := filepath.Join(dir, "key")
	if err := os.WriteFile(path, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	box := ring(t, key).Seal([]byte("pw"))
	for _, mode := range []os.FileMode{0o600, 0o400} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		k, err := secret.LoadKeyring(path)
		if err != nil {
			t.Fatalf("mode %04o: %v", mode, err)
		}
		if got, err := k.Open(box); err != nil || string(got) != "pw" {
			t.Errorf("mode %04o: %q, %v", mode, got, err)
		}
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o644, 0o700, 0o660} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := secret.LoadKeyring(path); err == nil || !strings.Contains(err.Error(), "0600 or 0400") {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
	if _, err := secret.LoadKeyring(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("directory: %v", err)
	}
	if _, err := secret.LoadKeyring(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	long := filepath.Join(dir, "long")
	if err := os.WriteFile(long, bytes.Repeat([]byte("#\n"), 40<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := secret.LoadKeyring(long); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("long file: %v", err)
	}
}

func TestValueHides(t *testing.T) {
	type holder struct {
		Password secret.Value `json:"password"`
		Pointer  *secret.Value
		List     []secret.Value
		Map      map[string]secret.Value
	}
	v := secret.NewValue("hunter2")
	h := holder{v, &v, []secret.Value{v}, map[string]secret.Value{"a": v}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10s", "%t"} {
		fmt.Fprintf(&out, verb, v)
		fmt.Fprintf(&out, verb, &v)
		fmt.Fprintf(&out, verb, h)
	}
	fmt.Fprintln(&out, v, h, v.String(), v.GoString())
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", slog.Any("v", v), slog.Any("h", h))
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", slog.Any("v", v), slog.Any("h", h))
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(text)
	fmt.Fprint(&out, fmt.Errorf("dial %v", v))
	for _, leak := range []string{"hunter2", "68756e74657232", "68756E74657232"} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("output shows the secret: %s", out.String())
		}
	}
	if !strings.Contains(out.String(), `"password":"[secret]"`) {
		t.Errorf("no placeholder: %s", out.String())
	}
	if v.Reveal() != "hunter2" || v.IsZero() || !(secret.Value{}).IsZero() {
		t.Error("Reveal or IsZero is wrong")
	}
}

func TestValueReads(t *testing.T) {
	var in struct{ Password secret.Value }
	if err := json.Unmarshal([]byte(`{"Password":"hunter2"}`), &in); err != nil || in.Password.Reveal() != "hunter2" {
		t.Errorf("%q, %v", in.Password.Reveal(), err)
	}
	if err := json.Unmarshal([]byte(`{"Password":"[secret]"}`), &in); !errors.Is(err, secret.ErrHidden) || in.Password.Reveal() != "hunter2" {
		t.Errorf("placeholder taken as input: %v", err)
	}
}

func TestToken(t *testing.T) {
	form := regexp.MustCompile(`^pl_send_[a-z2-7]{52}$`)
	a, sum := secret.NewToken("send")
	b, _ := secret.NewToken("send")
	if !form.MatchString(a) || !form.MatchString(b) || a == b {
		t.Errorf("tokens %q and %q", a, b)
	}
	if secret.SumToken(a) != sum || secret.SumToken(b) == sum || secret.SumToken(strings.ToUpper(a)) == sum {
		t.Error("sum does not belong to its token alone")
	}
}

func FuzzOpen(f *testing.F) {
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	k := ring(f, key)
	f.Add(k.Seal([]byte("pw"), "row-1"), "row-1")
	f.Add(k.Seal(nil), "")
	f.Add([]byte{1}, "x")
	f.Fuzz(func(t *testing.T, box []byte, binding string) {
		plain, err := k.Open(box, binding)
		if err != nil {
			if plain != nil || !errors.Is(err, secret.ErrClosed) && !errors.Is(err, secret.ErrKeyUnknown) {
				t.Fatalf("Open = %q, %v", plain, err)
			}
			return
		}
		// Only a box that Seal made opens.
		if k.NeedsReseal(box) || len(box) != len(plain)+secret.Overhead {
			t.Fatalf("a foreign box opened: %x", box)
		}
	})
}
