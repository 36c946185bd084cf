package testserver_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/testserver"
)

// Whoever lacks a program must be told which, and what to do.
func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Setenv("POSTLEDGER_TEST_REDIS_URL", "")
	t.Setenv("POSTLEDGER_TEST_MARIADB_URL", "")
	for name, c := range map[string]struct {
		need func(testing.TB)
		want []string
	}{
		"shared Redis": {
			func(tb testing.TB) { testserver.Redis(tb) },
			[]string{"Redis", "redis-server", "make deps", "POSTLEDGER_TEST_REDIS_URL"},
		},
		"private Redis": {
			func(tb testing.TB) { testserver.PrivateRedis(tb) },
			[]string{"Redis", "redis-server", "make deps"},
		},
		"shared MariaDB": {
			func(tb testing.TB) { testserver.MariaDB(tb) },
			[]string{"MariaDB", "mariadb-install-db", "make deps", "POSTLEDGER_TEST_MARIADB_URL"},
		},
		"private MariaDB": {
			func(tb testing.TB) { testserver.PrivateMariaDB(tb) },
			[]string{"MariaDB", "mariadb-install-db", "make deps"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", t.TempDir())
			message := failure(t, c.need)
			for _, want := range c.want {
				if !strings.Contains(message, want) {
					t.Errorf("the failure says %q, and does not name %s", message, want)
				}
			}
		})
	}
}

func TestAMariaDBThatIsGivenWronglyIsRefused(t *testing.T) {
	t.Setenv("POSTLEDGER_TEST_MARIADB_URL", "root@tcp(127.0.0.1)/")
	message := failure(t, func(tb testing.TB) { testserver.MariaDB(tb) })
	if !strings.Contains(message, "mysql://user:password@host:port") {
		t.Errorf("the failure says %q, and not what was expected", message)
	}
}

// failure is what need says when it fails its test.
func failure(t *testing.T, need func(testing.TB)) string {
	t.Helper()
	f := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		need(f)
	}()
	<-done
	if f.message == "" {
		t.Error("it did not fail")
	}
	return f.message
}

// failing is a test that keeps its failure to itself.
type failing struct {
	testing.TB
	message string
}

func (f *failing) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}
