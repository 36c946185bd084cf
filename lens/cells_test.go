package lens_test

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
)

// cell is one value as a row holds it, as a lens writes it, and as it is
// inserted.
type cell struct {
	row     any
	literal any
	raw     any
}

// sort is a column type in each database, with values on which databases are
// known to disagree.
type sort struct {
	name                    string
	kind                    catalogue.Kind
	postgres, mysql, sqlite string
	cells                   []cell
	// foreign literals fit the kind and are in no row.
	foreign []any
}

func (s sort) any(r *rand.Rand) cell { return s.cells[r.IntN(len(s.cells))] }

func texts(values ...string) []cell {
	var cells []cell
	for _, v := range values {
		cells = append(cells, cell{v, v, v})
	}
	return cells
}

func digits(values ...string) []cell {
	var cells []cell
	for _, v := range values {
		cells = append(cells, cell{v, v, v})
	}
	return cells
}

func ints(values ...int64) []cell {
	var cells []cell
	for _, v := range values {
		cells = append(cells, cell{v, json.Number(strconv.FormatInt(v, 10)), v})
	}
	return cells
}

func floats(values ...float64) []cell {
	var cells []cell
	for _, v := range values {
		cells = append(cells, cell{v, json.Number(strconv.FormatFloat(v, 'g', -1, 64)), v})
	}
	return cells
}

func blobs(values ...string) []cell {
	var cells []cell
	for _, v := range values {
		cells = append(cells, cell{[]byte(v), base64.StdEncoding.EncodeToString([]byte(v)), []byte(v)})
	}
	return cells
}

func instants(values ...string) []cell {
	var cells []cell
	for _, v := range values {
		t, err := time.Parse(time.RFC3339Nano, v)
		if err != nil {
			panic(err)
		}
		cells = append(cells, cell{t.UTC(), v, t.UTC().Format("2006-01-02 15:04:05.000")})
	}
	return cells
}

func walls(values ...string) []cell {
	cells := instants(values...)
	for i := range cells {
		cells[i].literal = cells[i].row.(time.Time).Format("2006-01-02T15:04:05.000")
	}
	return cells
}

func documents(values ...string) []cell {
	var cells []cell
	for _, v := range values {
		cells = append(cells, cell{lens.DecodeJSON(v), nil, v})
	}
	return cells
}

var latin = []string{"", "a", "A", " a", "ab", "aB", "a_b", "acb", "50%off", "50xoff", `c\d`, `c\\d`, "%", "_", `\`, "!", "é", "É", "ss", "ß", "I", "i", "'", `"`, "`", "--", "a\tb", "a\nb", "NO", "no", "null", "æ", "z"}

// sorts are compiled once; a test picks from them.
func sorts() []sort {
	wide := append([]string{"a ", "a  ", "e\u0301", "ı", "İ", "日本", "😀", "\u00a0", "ﬀ", "ff", "\u200b", "Ａ"}, latin...)
	return []sort{
		{"flag", catalogue.Bool, "boolean", "boolean", "BOOLEAN", []cell{{true, true, true}, {false, false, false}}, nil},
		{"small", catalogue.Int, "integer", "int", "INT4", ints(0, 1, -1, 2, 2147483647, -2147483648), []any{json.Number("3"), json.Number("99999999999")}},
		{"big", catalogue.BigInt, "bigint", "bigint", "BIGINT", digits("0", "1", "-1", "9007199254740992", "9007199254740993", "9223372036854775807", "-9223372036854775808"), []any{"9007199254740994", json.Number("5")}},
		{"exact", catalogue.Decimal, "numeric(20,6)", "decimal(20,6)", "DECIMAL(20,6)", digits("0.000000", "-0.500000", "0.100000", "0.300000", "1.000000", "1.000001", "99999999.999999", "-1.000000", "100.000000"), []any{"0.1", json.Number("0.10"), json.Number("1"), "0.3000001", "-0", "100", "0.00000000000001"}},
		{"double", catalogue.Float, "double precision", "double", "DOUBLE", floats(0, 0.1, 0.3, 0.30000000000000004, 1e300, -1e-300, 1e15, 9007199254740992, -2.5), []any{json.Number("0.2"), json.Number("1E300"), json.Number("-0")}},
		{"single", catalogue.Float, "real", "float", "REAL", floats(0, 0.5, 1.5, -2.25, 1024), []any{json.Number("0.1"), json.Number("1.5")}},
		{"note", catalogue.Text, "text", "text", "TEXT", texts(wide...), []any{"x", "A ", "5", "b"}},
		{"title", catalogue.Text, "varchar(40)", "varchar(40)", "VARCHAR(40)", texts(wide...), []any{"x", "A", "5"}},
		{"folded", catalogue.Text, "text COLLATE fuzzy", "varchar(40) COLLATE utf8mb4_unicode_ci", "TEXT COLLATE NOCASE", texts(wide...), []any{"x", "A", "É"}},
		{"old", catalogue.Text, "varchar(40)", "varchar(40) CHARACTER SET latin1 COLLATE latin1_swedish_ci", "NVARCHAR(40)", texts(latin...), []any{"日本", "A", "😀"}},
		{"padded", catalogue.Text, "char(12)", "char(12)", "CHAR(12)", texts(latin...), []any{"a ", "x", "A"}},
		{"raw", catalogue.Bytes, "bytea", "varbinary(40)", "BLOB", blobs("", "a", "a ", "a\x00", "\xff\x00", "A", "é"), []any{"AAAA"}},
		{"clock", catalogue.Time, "time", "time(6)", "TIME", texts("00:00:00", "23:59:59.999", "12:30:00", "12:30:00.5"), []any{"12:30:00.50", "01:00:00"}},
		{"day", catalogue.Date, "date", "date", "DATE", texts("0001-01-01", "1969-12-31", "1970-01-01", "2024-02-29", "2026-11-30", "9999-12-31"), []any{"2026-10-25", "now", "now-9mo/y"}},
		{"wall", catalogue.Timestamp, "timestamp", "datetime(6)", "DATETIME", walls("1000-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "2026-11-30T10:00:00.123Z", "2026-10-25T02:30:00Z"), []any{"2026-10-25 02:30:00", "now", "now-5w"}},
		{"instant", catalogue.TimestampTZ, "timestamptz", "timestamp(6) NULL", "TIMESTAMP", instants("1970-01-01T00:00:01Z", "2026-11-30T10:00:00.123Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2037-01-01T00:00:00Z"), []any{"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00", "now-36d", "now+11y", "1000-01-01T00:00:00Z"}},
		{"ref", catalogue.UUID, "uuid", "uuid", "UUID", texts("00000000-0000-0000-0000-000000000000", "0190a5b1-7e2c-7cc3-98c4-dc0c0c07398f", "ffffffff-ffff-ffff-ffff-ffffffffffff"), []any{"FFFFFFFF-ffff-FFFF-ffff-ffffffffffff", "0190A5B1-7E2C-7CC3-98C4-DC0C0C073980"}},
		{"doc", catalogue.JSON, "jsonb", "json", "JSON", documents(docs...), nil},
		{"oldDoc", catalogue.JSON, "json", "json", "JSON", documents(docs...), nil},
	}
}

var docs = []string{
	`{}`, `null`, `[]`, `"x"`, `1`, `true`, `{"a":"x"}`, `{"a":"X"}`, `{"a":1}`, `{"a":1.0}`, `{"a":true}`, `{"a":false}`, `{"a":null}`,
	`{"a":["x",2,false]}`, `{"a":{"b":"X"}}`, `{"a b":"é"}`, `{"a":"1"}`, `{"a":""}`, `{"0":"x"}`, `["x"]`, `[["x"]]`, `{"a":1e3}`,
	`{"a":9007199254740993}`, `{"a":0.1}`, `{"a":"a_b"}`, `{"a":"50%off"}`, `{"a":"c\\d"}`, `{"a":"\u00e9"}`, `{"a":"日本"}`, `{"a.b":"x"}`,
}

var docPaths = [][]any{{"a"}, {"a", "b"}, {"a", 0}, {"a", 2}, {"a b"}, {"0"}, {0}, {0, 0}, {"a.b"}, {"missing"}}

var docLiterals = []any{"x", "X", "1", "", "é", "a_b", "%", `\`, json.Number("1"), json.Number("1.0"), json.Number("1000"), json.Number("0.1"), json.Number("9007199254740993"), true, false}
