// Package doctor looks at everything a server needs, one thing after the
// other, and says of each what was looked at and whether it is as it should
// be. It changes nothing and sends no mail: of a next hop it asks as much as a
// login, of the DNS the records that mail of a profile relies on, and of a
// bucket that it writes, reads and deletes objects of the doctor's own.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/app/hop"
	"github.com/postledger/postledger/internal/blob/dir"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/transport/sandbox"
)

// Finding is what was found about one thing.
type Finding struct {
	OK bool `json:"ok"`
	// Warning: it is no fault, and somebody should look at it.
	Warning bool   `json:"warning,omitempty"`
	What    string `json:"what"`
	Says    string `json:"says"`
}

// Options say how far to go.
type Options struct {
	// Login connects to the next hop of each profile and logs in.
	Login bool
	// DNS is asked for each profile's records; nil asks nobody.
	DNS *net.Resolver
}

const (
	databaseTimeout = 15 * time.Second
	loginTimeout    = 30 * time.Second
	// skewLimit is more than any network's delay and less than what makes Date
	// headers and retries wrong.
	skewLimit = 2 * time.Second
	// roomLimit is how much space the journal and attachments should have.
	roomLimit = 256 << 20
)

type examination struct {
	config   *config.Config
	findings []Finding
	// noDNS: a question had no answer, so that no other is asked.
	noDNS bool
}

func (x *examination) good(what, format string, args ...any) {
	x.findings = append(x.findings, Finding{OK: true, What: what, Says: fmt.Sprintf(format, args...)})
}

func (x *examination) bad(what, format string, args ...any) {
	x.findings = append(x.findings, Finding{What: what, Says: fmt.Sprintf(format, args...)})
}

func (x *examination) warn(what, format string, args ...any) {
	x.findings = append(x.findings, Finding{OK: true, Warning: true, What: what, Says: fmt.Sprintf(format, args...)})
}

// Examine looks at what a server with this configuration needs.
func Examine(ctx context.Context, c *config.Config, o Options) []Finding {
	x := &examination{config: c}
	x.good("configuration", "is valid")
	x.journal()
	x.attachments(ctx)
	x.redis(ctx)
	factory := x.keys()
	l := x.database(ctx)
	if l == nil {
		return x.findings
	}
	defer l.Close() // nothing was written
	x.clock(ctx, l)
	x.shared(ctx, l)
	x.owner(ctx, l)
	x.profiles(ctx, l, factory, o)
	return x.findings
}

func (x *examination) database(ctx context.Context) *ledger.Ledger {
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	what := "database " + x.config.Database.String()
	if x.config.Database.Embedded() {
		if _, err := os.Stat(x.config.Database.Path()); err != nil {
			x.bad(what, "%v", app.ErrNoLedger)
			return nil
		}
	}
	l, err := app.OpenLedger(ctx, x.config, app.Unchecked, slog.New(slog.DiscardHandler))
	if err != nil {
		x.bad(what, "%v", err)
		return nil
	}
	x.good(what, "answers")
	if err := l.CheckSchema(ctx); err != nil {
		x.bad("schema", "%v", err)
		l.Close()
		return nil
	}
	x.good("schema", "fits this binary (%d)", ledger.SchemaVersion)
	return l
}

// clock compares the process's clock with the database's: due times go by the
// latter, Date headers by the former.
func (x *examination) clock(ctx context.Context, l *ledger.Ledger) {
	before := time.Now()
	theirs, err := l.Now(ctx)
	after := time.Now()
	if err != nil {
		x.bad("clock", "%v", err)
		return
	}
	ours := before.Add(after.Sub(before) / 2)
	skew := theirs.Sub(ours).Round(time.Millisecond)
	if skew.Abs() > skewLimit {
		x.bad("clock", "the database's clock is %s ahead of this machine's: run NTP on both", skew)
		return
	}
	x.good("clock", "differs from the database's by %s", skew.Abs())
}

func (x *examination) journal() {
	path := x.config.JournalDir
	if err := writable(path); err != nil {
		x.bad("journal directory "+path, "%v", err)
		return
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(existing(path), &fs); err == nil {
		switch int64(fs.Type) {
		case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC:
			x.bad("journal directory "+path, "is on a network or user file system: it must be on a local disk")
			return
		}
		if room := fs.Bavail * uint64(fs.Bsize); room < roomLimit {
			x.bad("journal directory "+path, "has %d MiB left", room>>20)
			return
		}
	}
	x.good("journal directory "+path, "is local and can be written")
}

// writable tries to make a file, where the directory is or would be made.
func writable(path string) error {
	f, err := os.CreateTemp(existing(path), ".postledger-doctor-*")
	if err != nil {
		return errors.New("cannot be written: " + errors.Unwrap(err).Error())
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// existing is the closest directory upwards that is there.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

func (x *examination) attachments(ctx context.Context) {
	what := "attachments " + x.config.Blobs
	if x.config.BlobsInS3() {
		x.bucket(ctx, what)
		return
	}
	if _, err := os.Stat(x.config.Blobs); err != nil {
		if err := writable(x.config.Blobs); err != nil {
			x.bad(what, "%v", err)
		} else {
			x.good(what, "will be made by the first start")
		}
		return
	}
	store, err := dir.Open(x.config.Blobs)
	if err == nil {
		defer store.Close()
		err = store.Check(ctx)
	}
	if err != nil {
		x.bad(what, "%v", err)
		return
	}
	x.good(what, "can be written")
}

func (x *examination) keys() *hop.Factory {
	ring, err := x.config.Keyring()
	if errors.Is(err, config.ErrNoKey) && x.config.Database.Embedded() {
		x.good("encryption key", "will be made by the first start")
		return nil
	}
	if err != nil {
		x.bad("encryption key", "%v", err)
		return nil
	}
	kept, err := sandbox.New(sandbox.Config{})
	if err != nil {
		x.bad("sandbox", "%v", err)
		return nil
	}
	x.good("encryption key", "can be read")
	return hop.New(ring, kept, slog.New(slog.DiscardHandler))
}
