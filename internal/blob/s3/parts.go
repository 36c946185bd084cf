package s3

import (
	"context"
	"io"

	"github.com/postledger/postledger/internal/blob"
)

const (
	// partSize is the least that S3 allows for a part that is not the last.
	// 10,000 parts of it are 48 GiB, far beyond any attachment.
	partSize = 5 << 20
	// smallSize is read before a part's room is asked for. It is what a request
	// holds in buffers anyway, so most attachments need no room at all, and a
	// caller who has sent nothing yet takes none from others.
	smallSize = 64 << 10
)

// MinMemory is one part.
const MinMemory = partSize

// parts is the room for the parts that are in flight. An upload sends one part
// after the other from one room, so memory is at most
//
//	Config.Memory / 5 MiB uploads × 5 MiB   (40 MiB: 8 uploads)
//
// beside 64 KiB for each Put that runs. Further uploads wait for a room, their
// senders held back by the connection. Rooms are made when first needed and
// kept.
type parts chan []byte

func newParts(memory int64) parts {
	p := make(parts, max(1, memory/partSize))
	for range cap(p) {
		p <- nil
	}
	return p
}

func (p parts) take(ctx context.Context) ([]byte, error) {
	select {
	case room := <-p:
		if room == nil {
			room = make([]byte, partSize)
		}
		return room, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// give takes a room back, and makes a new one in its place after a failure: the
// transport may go on reading a body for a moment after its request has failed.
func (p parts) give(room []byte, failed bool) {
	if failed {
		room = nil
	}
	p <- room
}

// fill reads until room is full or the content has ended.
func fill(m *blob.Meter, room []byte) (n int, end bool, err error) {
	n, err = io.ReadFull(m, room)
	if m.Err() != nil {
		return 0, false, m.Err()
	}
	return n, err != nil, nil
}
