package testserver

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
)

// oldestPostgres is the oldest major version that Postledger supports.
const oldestPostgres = 15

// postgresPrograms is a directory with the server's programs.
type postgresPrograms struct{ dir string }

// findPostgres looks where Debian and Ubuntu keep the versions side by side and
// at what PATH has, and takes the newest.
func findPostgres() (postgresPrograms, bool) {
	candidates, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is valid
	if path, err := exec.LookPath("postgres"); err == nil {
		candidates = append(candidates, filepath.Dir(path))
	}
	best, newest := "", 0
	for _, dir := range candidates {
		if version := postgresVersion(dir); version > newest {
			best, newest = dir, version
		}
	}
	return postgresPrograms{dir: best}, newest >= oldestPostgres
}

// postgresVersion is the major version, or 0 when a program is missing.
func postgresVersion(dir string) int {
	if _, err := exec.LookPath(filepath.Join(dir, "initdb")); err != nil {
		return 0
	}
	out, err := exec.Command(filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return 0
	}
	version, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(string(out)))
	if err != nil {
		return 0
	}
	return version
}

func (p postgresPrograms) path(name string) string { return filepath.Join(p.dir, name) }

// osUser runs PostgreSQL, which refuses to run as root.
type osUser struct {
	uid, gid int
	asOther  bool // false: it is the user of this process
}

func postgresUser(tb testing.TB) osUser {
	tb.Helper()
	if os.Getuid() != 0 {
		return osUser{uid: os.Getuid(), gid: os.Getgid()}
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		// Without the account there is no PostgreSQL either. The other servers
		// do without, and the database functions say what is missing.
		return osUser{}
	}
	uid, errUID := strconv.Atoi(account.Uid)
	gid, errGID := strconv.Atoi(account.Gid)
	if errUID != nil || errGID != nil {
		tb.Fatalf("user postgres has ids %q and %q, which are no numbers", account.Uid, account.Gid)
	}
	return osUser{uid: uid, gid: gid, asOther: true}
}

// own hands a file over to the user.
func (u osUser) own(path string) error {
	if !u.asOther {
		return nil
	}
	return os.Chown(path, u.uid, u.gid)
}

// command runs a program as the user, with an environment that makes messages
// and formats the same everywhere.
func (u osUser) command(dir, path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	if u.asOther {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: uint32(u.uid), Gid: uint32(u.gid)},
		}
	}
	return cmd
}
