package catalogue

// Dialect is a database's way of speaking SQL.
type Dialect string

// The dialects. MySQL stands for MySQL 8 and for MariaDB.
const (
	PostgreSQL Dialect = "postgresql"
	MySQL      Dialect = "mysql"
	SQLite     Dialect = "sqlite"
)

// Schema is what introspection found, under the database's own names.
type Schema struct {
	Dialect Dialect
	// Default is the schema (PostgreSQL) or database (MySQL) whose tables go by
	// their bare name.
	Default string
	Tables  []SchemaTable
}

// SchemaTable is a table or a view.
type SchemaTable struct {
	Schema, Name string
	View         bool
	Columns      []SchemaColumn
	// Primary are the columns of the primary key, in its order; none for a view.
	Primary []string
	// Unique are the columns of the other unique keys. Partial and expression
	// indexes are not unique keys.
	Unique [][]string
	// Doubts say of each unique index that looks like a key why it is none: its columns
	// may hold values that are equal.
	Doubts      []string
	ForeignKeys []ForeignKey
	// Rows is the database's own estimate, or -1 when it has none.
	Rows int64
}

// SchemaColumn is one column.
type SchemaColumn struct {
	Name string
	Kind Kind
	// Type is the database's own name of the type.
	Type     string
	Nullable bool
	Details  Details
}

// ForeignKey relates Columns to the columns To of another table, in pairs.
type ForeignKey struct {
	Name              string
	Columns           []string
	ToSchema, ToTable string
	To                []string
}

// Details are facts about a column's type on which a comparison depends.
type Details struct {
	// Element is the kind of an array's elements, and ElementType the database's
	// name of their type.
	Element     Kind
	ElementType string
	// Labels are an enum's values.
	Labels []string
	// Scale is the number of digits after the point of a decimal, or -1 when it
	// has no fixed number.
	Scale int
	// Single marks a float of 32 bits, Unsigned a MySQL integer without a sign.
	Single, Unsigned bool
	// Cast says that the database compares the type unlike plain text (padded,
	// or without regard to case) unless it is cast first.
	Cast bool
	// Fuzzy marks text whose collation may call different strings equal.
	Fuzzy bool
	// Collation is MySQL's name of how text is compared.
	Collation string
	// Encoding is how the model says that instants are held, or "".
	Encoding Encoding
	// Binary says that the values are stored in the database's binary JSON.
	Binary bool
}
