package sqlbox

import (
	"fmt"
	"strings"

	"github.com/postledger/postledger/jobs"
)

// ValuesInsert is an insert with a list of VALUES, for databases without arrays.
// head is what stands before the table's name.
func ValuesInsert(head, now string, rows []Record) (statement string, args []any) {
	row := "(" + strings.Repeat("?, ", ColumnCount) + now + ")"
	args = make([]any, 0, len(rows)*ColumnCount)
	for i := range rows {
		values := rows[i].Values()
		args = append(args, values[:]...)
	}
	return head + " job_outbox (" + Columns + ", changed_at) VALUES " + list(row, len(rows)), args
}

// HexRefs, HexIDs and PlainKeys are conditions for databases without arrays. Ids
// and revisions stand in the text, where they cost no placeholder: they are
// hexadecimal digits and numbers of ours.
func HexRefs(refs []jobs.Ref, values string) string {
	var ids, pairs strings.Builder
	for i, ref := range refs {
		comma := ", "
		if i == 0 {
			comma = ""
		}
		fmt.Fprintf(&ids, "%sx'%x'", comma, ref.ID[:])
		fmt.Fprintf(&pairs, "%s(x'%x', %d)", comma, ref.ID[:], ref.Rev)
	}
	// The first condition finds rows by the index, the second compares revisions.
	return "id IN (" + ids.String() + ") AND (id, rev) IN (" + values + pairs.String() + ")"
}

// HexIDs is the condition that id is one of ids.
func HexIDs(ids []jobs.ID) string {
	var text strings.Builder
	for i, id := range ids {
		if i > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "x'%x'", id[:])
	}
	return "id IN (" + text.String() + ")"
}

// PlainKeys is the condition that (handler, column) is one of keys.
func PlainKeys(keys []Key, column, values string) (condition string, args []any) {
	for _, key := range keys {
		args = append(args, key.Dedupe)
	}
	for _, key := range keys {
		args = append(args, key.Handler, key.Dedupe)
	}
	return column + " IN (" + list("?", len(keys)) + ") AND (handler, " + column + ") IN (" + values + list("(?, ?)", len(keys)) + ")", args
}

func list(item string, n int) string {
	return strings.TrimSuffix(strings.Repeat(item+", ", n), ", ")
}
