package ledger

import (
	"context"
	"fmt"

	"github.com/postledger/postledger"
)

// loadShared fills shared bodies in, each read once for all messages that have
// it. A body that is not there was purged with the last content that named it,
// after that content was read: so are the messages' contents then.
func (l *Ledger) loadShared(ctx context.Context, of map[postledger.ID][]*Loaded, inPieces bool) error {
	var ask []postledger.ID
	fill := func(b sharedBody) {
		for _, m := range of[b.id] {
			m.Content.Text, m.Content.HTML, m.ContentMissing = b.text, b.html, false
		}
	}
	for id, ms := range of {
		if b, ok := l.bodies.get(id); ok {
			fill(b)
			continue
		}
		for _, m := range ms {
			m.ContentMissing = true
		}
		ask = append(ask, id)
	}
	if len(ask) == 0 {
		return nil
	}
	found := func(b sharedBody) {
		fill(b)
		l.bodies.put(b)
	}
	if inPieces {
		for _, id := range ask {
			text, html, ok, err := l.loadBodies(ctx, sharedBodies, id)
			if err != nil {
				return err
			}
			if ok {
				found(sharedBody{id: id, text: text, html: html})
			}
		}
		return nil
	}
	where, args := l.read().anyOfUncounted("b.id", ask)
	if err := l.rows(ctx, func(r row) error {
		var b sharedBody
		if err := r.Scan(idColumn{&b.id}, textColumn[string]{&b.text}, textColumn[string]{&b.html}); err != nil {
			return err
		}
		found(b)
		return nil
	}, `SELECT b.id, b.text_body, b.html_body FROM shared_bodies b WHERE `+where, args...); err != nil {
		return fmt.Errorf("load shared bodies: %w", err)
	}
	return nil
}
