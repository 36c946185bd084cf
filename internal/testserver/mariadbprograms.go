package testserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The oldest version that Postledger supports is the first with SKIP LOCKED.
const (
	oldestMariaDBMajor = 10
	oldestMariaDBMinor = 6
)

// mariadbPrograms are the programs of a server, and whether they run as root.
type mariadbPrograms struct {
	server, install string
	root            bool
}

// asRoot is the argument without which the programs refuse to run as root.
func (p mariadbPrograms) asRoot() []string {
	if p.root {
		return []string{"--user=root"}
	}
	return nil
}

func findMariaDB(tb testing.TB) (mariadbPrograms, bool) {
	tb.Helper()
	server, okServer := findProgram(tb, "mariadbd")
	install, okInstall := findProgram(tb, "mariadb-install-db")
	if !okServer || !okInstall || !mariadbSupported(server) {
		return mariadbPrograms{}, false
	}
	return mariadbPrograms{server: server, install: install, root: os.Getuid() == 0 && !postgresUser(tb).asOther}, true
}

func mariadbSupported(path string) bool {
	out, err := exec.Command(path, "--no-defaults", "--version").Output()
	if err != nil {
		return false
	}
	match := regexp.MustCompile(`Ver (\d+)\.(\d+)`).FindSubmatch(out)
	if match == nil {
		return false
	}
	major, errMajor := strconv.Atoi(string(match[1]))
	minor, errMinor := strconv.Atoi(string(match[2]))
	return errMajor == nil && errMinor == nil &&
		(major > oldestMariaDBMajor || major == oldestMariaDBMajor && minor >= oldestMariaDBMinor)
}

func needMariaDB(tb testing.TB) mariadbPrograms {
	tb.Helper()
	programs, ok := findMariaDB(tb)
	if !ok {
		tb.Fatalf("MariaDB %d.%d or newer is not installed (programs mariadbd and mariadb-install-db): run `make deps`, or set %s",
			oldestMariaDBMajor, oldestMariaDBMinor, mariadbURLVariable)
	}
	return programs
}

// mariadbTemplate is a data directory without users of its own, from which
// others are copied: making one takes seconds. It is removed with the shared
// server, when nobody uses the directory.
func mariadbTemplate(programs mariadbPrograms, owner osUser, dir string) (string, error) {
	lock, err := acquireLock(filepath.Join(dir, "template.lock"), syscall.LOCK_EX, lockTimeout)
	if err != nil {
		return "", err
	}
	defer lock.release()
	template := filepath.Join(dir, "template")
	if _, err := os.Stat(template); err == nil {
		return template, nil
	}
	// Under another name until it is whole: the program may be killed.
	fresh := filepath.Join(dir, "template-new")
	if err := os.RemoveAll(fresh); err != nil {
		return "", fmt.Errorf("remove a half-made template: %w", err)
	}
	args := append([]string{
		"--no-defaults",
		"--datadir=" + fresh,
		"--auth-root-authentication-method=normal",
		"--skip-test-db",
		"--innodb-log-file-size=16M",
		"--debug-no-sync",
	}, programs.asRoot()...)
	out, err := owner.command(dir, programs.install, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("mariadb-install-db: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	if err := os.Rename(fresh, template); err != nil {
		return "", fmt.Errorf("publish the template: %w", err)
	}
	return template, nil
}
