package catalogue

// Kind is what the values of a column are, the same in every database. The set
// is closed: what fits none is [Unsupported].
type Kind string

// The kinds. Values leave the library in the form given here.
const (
	Bool        Kind = "bool"        // JSON true or false
	Int         Kind = "int"         // a whole number of at most 32 bits: a JSON number
	BigInt      Kind = "bigint"      // a whole number of at most 64 bits: a string of digits
	Decimal     Kind = "decimal"     // exact decimal: a string
	Float       Kind = "float"       // binary floating point: a JSON number
	Text        Kind = "text"        // UTF-8 text
	Bytes       Kind = "bytes"       // base64
	Time        Kind = "time"        // time of day without a zone: 15:04:05.999999
	Date        Kind = "date"        // 2006-01-02
	Timestamp   Kind = "timestamp"   // date and time on a wall clock, without a zone
	TimestampTZ Kind = "timestamptz" // an instant: RFC 3339 in UTC
	UUID        Kind = "uuid"        // lower case, with hyphens
	JSON        Kind = "json"        // any JSON value
	Array       Kind = "array"       // a list (PostgreSQL); Column.Element is the kind of its elements
	Enum        Kind = "enum"        // one of Column.Labels
	Unsupported Kind = "unsupported" // cannot be filtered, ordered or read
)

// kinds is the closed set, for what comes in as text.
var kinds = map[Kind]bool{
	Bool: true, Int: true, BigInt: true, Decimal: true, Float: true, Text: true, Bytes: true, Time: true,
	Date: true, Timestamp: true, TimestampTZ: true, UUID: true, JSON: true, Array: true, Enum: true, Unsupported: true,
}

// Known tells whether a kind is one of the set.
func (k Kind) Known() bool { return kinds[k] }

// Number tells whether values of the kind are numbers.
func (k Kind) Number() bool { return k == Int || k == BigInt || k == Decimal || k == Float }

// Moment tells whether values of the kind are points on a calendar, to which
// relative times may be compared.
func (k Kind) Moment() bool { return k == Date || k == Timestamp || k == TimestampTZ }

// Ordered tells whether "less than" means the same for the kind in every database.
func (k Kind) Ordered() bool { return k.Number() || k.Moment() || k == Text || k == Time }

// Sortable tells whether rows can be ordered by the kind. The order of
// identifiers and bytes is stable, though it says nothing.
func (k Kind) Sortable() bool { return k.Ordered() || k == UUID || k == Bool || k == Bytes }
