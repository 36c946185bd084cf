package testserver

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-sql-driver/mysql"
)

// mariadbNode is how a MariaDB server is reached.
type mariadbNode struct {
	Data     string `json:"data"`
	Port     int    `json:"port"`
	Password string `json:"password"` // of both users
}

func (n mariadbNode) initFile() string { return n.Data + ".sql" }
func (n mariadbNode) pidFile() string  { return filepath.Join(n.Data, "server.pid") }

// newMariaDBNode copies the template. The users are made by a file that the
// server reads before it accepts connections, so nobody meets it without a
// password.
func newMariaDBNode(programs mariadbPrograms, owner osUser, dir, name string, port int) (mariadbNode, error) {
	n := mariadbNode{Data: filepath.Join(dir, name), Port: port, Password: randomHex(16)}
	template, err := mariadbTemplate(programs, owner, dir)
	if err != nil {
		return n, err
	}
	if out, err := owner.command(dir, "/bin/cp", "-a", template, n.Data).CombinedOutput(); err != nil {
		return n, fmt.Errorf("copy the template: %w\n%s", err, out)
	}
	// Names and passwords are letters and digits: they need no quoting.
	users := fmt.Sprintf(`DELETE FROM mysql.global_priv WHERE User NOT IN ('mariadb.sys', 'root', '%[1]s') OR Host NOT IN ('localhost', '127.0.0.1');
FLUSH PRIVILEGES;
DROP USER IF EXISTS 'root'@'localhost';
CREATE OR REPLACE USER 'root'@'127.0.0.1' IDENTIFIED BY '%[2]s';
GRANT ALL ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;
CREATE OR REPLACE USER '%[1]s'@'127.0.0.1' IDENTIFIED BY '%[2]s';
GRANT ALL ON `+"`test\\_%%`"+`.* TO '%[1]s'@'127.0.0.1';
CREATE DATABASE IF NOT EXISTS %[3]s CHARACTER SET utf8mb4;
`, appRole, n.Password, mariadbDatabase)
	if err := os.WriteFile(n.initFile(), []byte(users), 0o600); err != nil {
		return n, fmt.Errorf("write the users' file: %w", err)
	}
	if err := owner.own(n.initFile()); err != nil {
		return n, fmt.Errorf("hand over the users' file: %w", err)
	}
	return n, nil
}

// command is the server's program and arguments. It is small in memory, and
// forces every commit to disk. Further settings win over these.
func (n mariadbNode) command(programs mariadbPrograms, settings ...string) []string {
	command := []string{
		programs.server,
		"--no-defaults",
		"--datadir=" + n.Data,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--port=%d", n.Port),
		"--socket=" + n.Data + ".sock",
		"--pid-file=" + n.pidFile(),
		"--init-file=" + n.initFile(),
		"--skip-name-resolve",
		"--character-set-server=utf8mb4",
		"--max-connections=200",
		"--performance-schema=OFF",
		"--innodb-buffer-pool-size=64M",
		"--innodb-log-file-size=16M",
		"--innodb-flush-log-at-trx-commit=1",
		"--key-buffer-size=1M",
		"--aria-pagecache-buffer-size=2M",
		"--table-open-cache=200",
	}
	command = append(command, programs.asRoot()...)
	for _, setting := range settings {
		command = append(command, "--"+setting)
	}
	return command
}

func (n mariadbNode) config(user string) *mysql.Config {
	config := mysql.NewConfig()
	config.Net, config.Addr = "tcp", loopback(n.Port)
	config.User, config.Passwd = user, n.Password
	return config
}

func (n mariadbNode) ready() bool { return listening(n.Port) && n.answers(time.Second) }

func (n mariadbNode) answers(patience time.Duration) bool {
	config := n.config("root")
	config.Timeout, config.ReadTimeout = patience, patience
	// What a server says that is not up yet is not worth a log line.
	config.Logger = &mysql.NopLogger{}
	return mariadbExec(config, "SELECT 1") == nil
}
