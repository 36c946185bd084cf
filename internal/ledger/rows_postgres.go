package ledger

import (
	"encoding/binary"
	"time"

	"github.com/postledger/postledger"
)

// rowArray is an array of rows in PostgreSQL's binary format, written row by
// row as they go over the wire: the driver would look at each value of each
// column through an interface and copy it twice.
type rowArray struct {
	buf   []byte
	rows  int
	start int // where the length of the row stands that is being written
	width int
}

// Types of columns, as every PostgreSQL numbers them (pg_type.dat).
const (
	oidInt8 = 20
	oidInt2 = 21
	oidInt4 = 23
	oidText = 25
	oidUUID = 2950
)

// rowArrayHead is an array's header: one dimension, no nulls, its rows' type,
// their number, and that the first is number one.
const rowArrayHead = 5 * 4

// begin starts a row of width columns.
func (a *rowArray) begin(width int) {
	if a.rows == 0 {
		a.buf = append(a.buf[:0], make([]byte, rowArrayHead)...)
	}
	a.rows++
	a.start, a.width = len(a.buf), width
	a.buf = binary.BigEndian.AppendUint32(a.buf, 0)
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(width))
}

// end ends the row: its length stands before it.
func (a *rowArray) end() {
	binary.BigEndian.PutUint32(a.buf[a.start:], uint32(len(a.buf)-a.start-4))
}

// take returns the array, which is good until the next row is begun.
func (a *rowArray) take(element uint32) []byte {
	for i, v := range [...]uint32{1, 0, element, uint32(a.rows), 1} {
		binary.BigEndian.PutUint32(a.buf[4*i:], v)
	}
	a.rows = 0
	return a.buf
}

func (a *rowArray) field(oid uint32, size int) {
	a.buf = binary.BigEndian.AppendUint32(a.buf, oid)
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(size))
}

func (a *rowArray) null(oid uint32) {
	a.buf = binary.BigEndian.AppendUint32(a.buf, oid)
	a.buf = binary.BigEndian.AppendUint32(a.buf, ^uint32(0))
}

// id writes a uuid; the zero id is NULL.
func (a *rowArray) id(ids ...postledger.ID) {
	for i := range ids {
		if ids[i].IsZero() {
			a.null(oidUUID)
			continue
		}
		a.field(oidUUID, len(ids[i]))
		a.buf = append(a.buf, ids[i][:]...)
	}
}

func (a *rowArray) text(texts ...string) {
	for _, s := range texts {
		a.field(oidText, len(s))
		a.buf = append(a.buf, s...)
	}
}

func (a *rowArray) bigint(numbers ...int64) {
	for _, n := range numbers {
		a.field(oidInt8, 8)
		a.buf = binary.BigEndian.AppendUint64(a.buf, uint64(n))
	}
}

func (a *rowArray) integer(n int) {
	a.field(oidInt4, 4)
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(n))
}

func (a *rowArray) smallint(n int) {
	a.field(oidInt2, 2)
	a.buf = binary.BigEndian.AppendUint16(a.buf, uint16(n))
}

// moment writes microseconds; the zero time is NULL.
func (a *rowArray) moment(times ...time.Time) {
	for _, t := range times {
		if t.IsZero() {
			a.null(oidInt8)
			continue
		}
		a.bigint(t.UnixMicro())
	}
}
