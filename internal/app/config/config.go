package config

import (
	"net/netip"
	"path/filepath"
	"time"

	"github.com/postledger/postledger/internal/secret"
)

// Config is the whole configuration. The tags are its keys.
type Config struct {
	// DataDir holds what the other paths do not place elsewhere.
	DataDir string `koanf:"data_dir"`
	// Database is sqlite://PATH or a postgres:// URL.
	Database Database `koanf:"database"`
	// DatabaseConnections bounds the PostgreSQL pool of one process.
	DatabaseConnections int `koanf:"database_connections"`
	// DatabaseTimeout is how long a step waits for the database: a request is
	// answered with mail_unavailable then, and what leases and settles tries
	// again on another connection.
	DatabaseTimeout time.Duration `koanf:"database_timeout"`
	// Blobs is the directory of attachments, or s3://BUCKET/PREFIX.
	Blobs string `koanf:"blobs"`
	S3    S3     `koanf:"s3"`
	// JournalDir holds the wire journal: a local disk that outlives a restart.
	JournalDir string `koanf:"journal_dir"`
	// HTTP is where the API listens, AdminHTTP where metrics and profiles of
	// the process do; "off" switches the latter off.
	HTTP      string `koanf:"http"`
	AdminHTTP string `koanf:"admin_http"`
	// TrustedProxies are addresses and networks whose X-Forwarded-For is
	// believed, to tell callers behind them apart.
	TrustedProxies []netip.Prefix `koanf:"trusted_proxies"`
	// WebhookNetworks are addresses and networks beside the public ones that
	// webhooks may go to, on any port. This process's own listeners are never among
	// them.
	WebhookNetworks []netip.Prefix `koanf:"webhook_networks"`
	// EncryptionKey seals profiles' credentials: base64 of 32 bytes, or
	// file:PATH with one key a line, the current one first.
	EncryptionKey secret.Value `koanf:"encryption_key"`
	// OlderEncryptionKeys still open what they sealed.
	OlderEncryptionKeys []secret.Value `koanf:"older_encryption_keys"`
	// MemoryBudget bounds the bodies in flight of one process.
	MemoryBudget Size `koanf:"memory_budget"`
	// MaxWaiting bounds the queued deliveries of the whole ledger; 0 is no bound.
	MaxWaiting int64 `koanf:"max_waiting"`
	// StopTimeout bounds a stop, from the signal to the exit.
	StopTimeout time.Duration `koanf:"stop_timeout"`
	// AllowSandbox lets PostgreSQL's default profile be a sandbox.
	AllowSandbox bool `koanf:"allow_sandbox"`
	// Sources are the applications' databases that lenses read, by name.
	Sources   map[string]Source `koanf:"sources"`
	Audiences Audiences         `koanf:"audiences"`
	Jobs      Jobs              `koanf:"jobs"`
	Limits    Limits            `koanf:"limits"`
	Log       Log               `koanf:"log"`
	Timings   Timings           `koanf:"timings"`
}

// Limits bound what one caller may ask of a process.
type Limits struct {
	// KeyRate is how many requests a second one API key may make in the long
	// run, KeyBurst how many at once.
	KeyRate  int `koanf:"key_rate"`
	KeyBurst int `koanf:"key_burst"`
}

// Audiences bound what counting audiences costs.
type Audiences struct {
	// CountTimeout ends a count. Counts is how many may run at one time in one
	// process; one app has at most half of them, rounded up.
	CountTimeout time.Duration `koanf:"count_timeout"`
	Counts       int           `koanf:"counts"`
}

// Log says what is logged, and how. It goes to the standard error.
type Log struct {
	// Level is debug, info, warn or error. Addresses appear at debug only.
	Level string `koanf:"level"`
	// Format is json or text.
	Format string `koanf:"format"`
}

// Timings decide when a process is taken for lost. They belong together, and
// must be the same for all processes of a ledger.
type Timings struct {
	// Heartbeat is how often a process writes that it lives.
	Heartbeat time.Duration `koanf:"heartbeat"`
	// StaleAfter is how long without a written heartbeat a process still sends.
	StaleAfter time.Duration `koanf:"stale_after"`
	// LostAfter is how long a heartbeat must stand still until others take over.
	LostAfter time.Duration `koanf:"lost_after"`
	// PollImmediate and PollBulk are how often each lane is looked at when
	// nothing woke the process.
	PollImmediate time.Duration `koanf:"poll_immediate"`
	PollBulk      time.Duration `koanf:"poll_bulk"`
	// Recovery is how often lost processes and passed deadlines are looked for.
	Recovery time.Duration `koanf:"recovery"`
}

// DefaultPath is the file that is read when none is named; it may be missing.
const DefaultPath = "/etc/postledger/postledger.yaml"

// Default is the configuration of an empty file.
func Default() Config {
	return Config{
		DataDir:             "/var/lib/postledger",
		DatabaseConnections: 16,
		DatabaseTimeout:     15 * time.Second,
		HTTP:                "127.0.0.1:8025",
		AdminHTTP:           "127.0.0.1:8026",
		MemoryBudget:        128 << 20,
		StopTimeout:         60 * time.Second,
		S3:                  S3{UploadMemory: 40 << 20},
		Jobs:                defaultJobs(),
		Audiences:           Audiences{CountTimeout: 10 * time.Minute, Counts: 2},
		Limits:              Limits{KeyRate: 200, KeyBurst: 400},
		Log:                 Log{Level: "info", Format: "json"},
		Timings: Timings{
			Heartbeat: 5 * time.Second, StaleAfter: 20 * time.Second, LostAfter: 60 * time.Second,
			PollImmediate: 250 * time.Millisecond, PollBulk: 2 * time.Second, Recovery: 30 * time.Second,
		},
	}
}

// Off switches a listener off.
const Off = "off"

// KeyFile is where the embedded ledger keeps an encryption key that nobody
// configured.
func (c *Config) KeyFile() string { return filepath.Join(c.DataDir, "encryption.key") }

// place fills in the paths that follow from others.
func (c *Config) place() {
	if c.Database.url == "" {
		c.Database = SQLite(filepath.Join(c.DataDir, "postledger.db"))
	}
	if c.Blobs == "" {
		c.Blobs = filepath.Join(c.DataDir, "blobs")
	}
	if c.JournalDir == "" {
		c.JournalDir = filepath.Join(c.DataDir, "journal")
	}
}
