package postledger

import "time"

// Lane decides who goes first: immediate mail is never behind bulk.
type Lane string

// The lanes. Batches and mailings are always bulk.
const (
	LaneImmediate Lane = "immediate"
	LaneBulk      Lane = "bulk"
)

// Valid reports whether l is one of the lanes.
func (l Lane) Valid() bool { return l == LaneImmediate || l == LaneBulk }

// Category is what kind of mail it is; it decides which consent is needed.
type Category string

// The categories.
const (
	CategorySystem    Category = "system"
	CategoryPlatform  Category = "platform"
	CategoryActivity  Category = "activity"
	CategoryMarketing Category = "marketing"
)

// Valid reports whether c is one of the categories.
func (c Category) Valid() bool {
	return c == CategorySystem || c == CategoryPlatform || c == CategoryActivity || c == CategoryMarketing
}

// RecipientKind is the header a recipient stands in.
type RecipientKind string

// The kinds. A bcc recipient stands in no header.
const (
	KindTo  RecipientKind = "to"
	KindCc  RecipientKind = "cc"
	KindBcc RecipientKind = "bcc"
)

// Message is content submitted once.
type Message struct {
	ID              ID
	AppID           ID
	APIKeyID        ID
	RequestID       string
	ProfileID       ID
	ProfileName     string
	Tenant          string
	Locale          string
	Lane            Lane
	BatchID         ID
	RefScope        string
	RefID           string
	Category        Category
	Subject         string
	HeaderMessageID string
	SizeBytes       int64
	// Recipients is how many deliveries it was accepted with.
	Recipients      int
	Actor           Actor
	SendAt          time.Time
	ExpiresAt       time.Time
	CreatedAt       time.Time
	SettledAt       time.Time
	ContentPurgedAt time.Time
	ResendOf        ID
}

// Content is the part of a message that retention may purge.
type Content struct {
	Text        string
	HTML        string
	Headers     []Header
	FromName    string
	ReplyTo     []Mailbox
	Attachments []Attachment
}

// Header is one header field the caller added.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Mailbox is an address with an optional display name.
type Mailbox struct {
	Name    string `json:"name,omitempty"`
	Address string `json:"address"`
}

// Attachment describes one attached file; its bytes are in the blob store.
type Attachment struct {
	Name        string `json:"name"`
	ContentType string `json:"content_type"`
	// Disposition is attachment or inline.
	Disposition string `json:"disposition,omitempty"`
	ContentID   string `json:"content_id,omitempty"`
	// Method is the iTIP method of a text/calendar part (RFC 6047 §2.4).
	Method string `json:"method,omitempty"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Blob is the key in the blob store.
	Blob string `json:"blob"`
}

// Delivery is one message to one recipient: the ledger's row and the unit of state.
type Delivery struct {
	ID            ID
	MessageID     ID
	EnvelopeID    ID
	AppID         ID
	ProfileID     ID
	Lane          Lane
	Kind          RecipientKind
	Position      int
	Address       string
	AddressFolded string
	DisplayName   string
	RecipientKey  string
	Status        Status
	Reason        Reason
	// Fence counts leases, never reused: it guards every settle and recovery.
	Fence int64
	// Attempts counts charged tries: shown to people, it guards nothing.
	Attempts          int
	CreatedAt         time.Time
	DueAt             time.Time
	LeasedAt          time.Time
	FirstChargedAt    time.Time
	ExpiresAt         time.Time
	DatedAt           time.Time
	CancelRequestedAt time.Time
	SentAt            time.Time
	SettledAt         time.Time
	ResolveBy         time.Time
	ProviderID        string
	// Response is the last reply, with the address replaced by {rcpt}.
	Response string
	// Resent says that it had been unconfirmed and was to be sent again. Its
	// recipient may have a copy whatever its status is now, and two if it was sent.
	Resent bool
}

// Event is one line of a delivery's history that its columns cannot hold.
type Event struct {
	ID         ID
	DeliveryID ID
	At         time.Time
	Kind       string
	From, To   Status
	Reason     Reason
	Fence      int64
	Attempt    int
	Phase      string
	Code       int
	Enhanced   string
	Response   string
	Actor      string
}
