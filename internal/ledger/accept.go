package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postledger/postledger"
)

// NewMessage is one validated message with its deliveries, ready to be
// written. CreatedAt and each delivery's due time are filled in by Accept.
type NewMessage struct {
	Message    postledger.Message
	Content    postledger.Content
	Deliveries []postledger.Delivery
	// Key and Fingerprint identify a request that may be repeated; no key
	// means that a repetition is a new message.
	Key         string
	Fingerprint string
}

// AcceptRequest is what commits as one: new messages are written all or none.
type AcceptRequest struct {
	AppID     postledger.ID
	APIKeyID  postledger.ID
	ProfileID postledger.ID
	// Revision is the profile's revision the request was validated against.
	Revision int64
	// Quota bounds recipients in any 1,440 minutes; nil means no bound.
	Quota *int64
	// TrustedHTML is what the request's HTML was treated as.
	TrustedHTML bool
	BatchID     postledger.ID
	Messages    []NewMessage
	Audit       postledger.AuditEvent
}

// AcceptedItem is the answer for one message of a request.
type AcceptedItem struct {
	MessageID postledger.ID
	BatchID   postledger.ID
	// Replayed says that the key was known and nothing new was written.
	Replayed bool
	// Gone says that the key is known and its message is not kept any more.
	Gone bool
}

// Accepted is the answer for a request.
type Accepted struct {
	Items     []AcceptedItem
	CreatedAt time.Time
}

// Errors of Accept that say what the caller did.
var (
	// ErrProfileChanged: the profile was changed since the request was validated.
	ErrProfileChanged = errors.New("the profile was changed meanwhile")
	ErrProfileGone    = errors.New("the profile was removed")
	ErrNotGranted     = errors.New("the app may not use this profile")
	ErrKeyRevoked     = errors.New("the API key was revoked or has expired")
	// ErrFateUnknown: COMMIT got no answer and it could not be found out what
	// became of it.
	ErrFateUnknown = errors.New("the fate of the commit is unknown")
	// ErrKeyBusy: other processes write the same idempotency keys again and
	// again; nothing was written, and a later try will find theirs.
	ErrKeyBusy = errors.New("the idempotency key is being written by another process")
)

// MismatchError: a key was used before for another request.
type MismatchError struct{ Index int }

func (e *MismatchError) Error() string {
	return fmt.Sprintf("item %d: the idempotency key belongs to another request", e.Index)
}

// QuotaError: the request would pass the limit of recipients in 1,440 minutes.
type QuotaError struct {
	Limit, Used, Requested int64
	// ResetsAt is when enough of the window will have passed; zero when the
	// request alone is over the limit.
	ResetsAt time.Time
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("quota exceeded: %d of %d used, %d requested", e.Used, e.Limit, e.Requested)
}

// Accept writes a request: message, deliveries, key, quota, audit and counters
// in one transaction, which it may share with other requests that arrive at
// the same time. It returns only when the commit is known. A lost COMMIT is
// looked up; when that fails too the error is ErrFateUnknown. A database that
// does not answer is waited for three times the ledger's timeout at most.
func (l *Ledger) Accept(ctx context.Context, r *AcceptRequest) (Accepted, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	return l.accepts.do(ctx, r)
}

// Signals between the steps of a group; none leaves this package.
var (
	// errKeyRace: another process committed one of the keys meanwhile; the
	// next look will see it.
	errKeyRace = errors.New("idempotency key race")
	// errChargeRefused: a quota's charge that came with the COMMIT was refused;
	// by itself it can be looked into.
	errChargeRefused = errors.New("charge refused")
	// errGroupQuota: the group as a whole passes a quota; each is tried alone.
	errGroupQuota = errors.New("group over quota")
)

// answer collects one request's result inside a group.
type answer struct {
	req   *AcceptRequest
	out   Accepted
	err   error
	fresh []int // indexes of messages that are new
}

// acceptGroup writes every request of the group that can be written. The
// order is fixed: keys, rows, audit, counters, and the quota row last, so that
// the one row all accepts of a profile share is locked for the commit only.
func acceptGroup(ctx context.Context, t *tx, group []*answer, try *acceptTry) error {
	now, known, policies, quotas, err := askForGroup(ctx, t, group, try)
	if err != nil {
		return err
	}
	resolveKeys(group, known)
	checkPolicy(group, policies)
	if len(group) > 1 {
		if err := refuseOverQuota(ctx, t, group, quotas, now); err != nil {
			return err
		}
	}
	live := group[:0:0]
	for _, a := range group {
		a.out.CreatedAt = fromMicros(now)
		if a.err == nil && len(a.fresh) > 0 {
			live = append(live, a)
		}
	}
	if len(live) == 0 {
		if try != nil {
			try.xid = 0 // nothing is written: the answers are right whatever happens
		}
		return nil
	}
	if t.dialect == postgres {
		return writePostgres(ctx, t, live, quotas, now, try)
	}
	if err := insertSQLite(ctx, t, live, now); err != nil {
		return err
	}
	for _, c := range countsOf(live) {
		t.queue("count accepted", nil, countAccept,
			now/microsPerHour, c.app, c.profile, string(c.lane), c.messages, c.deliveries)
	}
	return chargeQuotas(ctx, t, live, chargesOf(live), now/microsPerMinute)
}

// askForGroup reads all that decides about a group, in one round trip.
func askForGroup(ctx context.Context, t *tx, group []*answer, try *acceptTry) (now int64, known map[appKey]knownKey, policies map[policyKey]policy, quotas map[quotaKey]quotaRow, err error) {
	if t.dialect == postgres {
		queueMoment(t, &try.xid)
	} else if _, err := t.nowMicros(ctx); err != nil {
		return 0, nil, nil, nil, err
	}
	known = map[appKey]knownKey{}
	var apps []postledger.ID
	var keys []string
	for _, a := range group {
		for i := range a.req.Messages {
			if k := a.req.Messages[i].Key; k != "" {
				apps, keys = append(apps, a.req.AppID), append(keys, k)
			}
		}
	}
	queueKeys(t, apps, keys, known)
	policies = queuePolicies(t, group)
	quotas = queueQuotas(t, group)
	err = t.flush(ctx)
	return t.us, known, policies, quotas, err
}

type appKey struct {
	app postledger.ID
	key string
}

// resolveKeys finds which messages are new. One key twice in a request is
// refused earlier, at validation.
func resolveKeys(group []*answer, known map[appKey]knownKey) {
	for _, a := range group {
		a.out.Items = make([]AcceptedItem, len(a.req.Messages))
		a.fresh = a.fresh[:0]
		a.err = nil
		for i := range a.req.Messages {
			m := &a.req.Messages[i]
			k, ok := known[appKey{a.req.AppID, m.Key}]
			switch {
			case m.Key == "" || !ok:
				a.out.Items[i] = AcceptedItem{MessageID: m.Message.ID, BatchID: m.Message.BatchID}
				a.fresh = append(a.fresh, i)
			case k.fingerprint != m.Fingerprint:
				a.err = &MismatchError{Index: i}
			default:
				a.out.Items[i] = AcceptedItem{MessageID: k.message, BatchID: k.batch, Replayed: true, Gone: k.gone}
			}
		}
	}
}

// knownKey is a row of idempotency_keys; gone says that its message is not kept any more.
type knownKey struct {
	fingerprint    string
	message, batch postledger.ID
	gone           bool
}

// LookupKeys answers for the keys that are known, by their index, without
// writing anything. A key that stands for another request is a MismatchError;
// an empty fingerprint fits any.
func (l *Ledger) LookupKeys(ctx context.Context, app postledger.ID, keys, fingerprints []string) (map[int]AcceptedItem, error) {
	apps := make([]postledger.ID, len(keys))
	for i := range apps {
		apps[i] = app
	}
	known, err := lookupKeys(ctx, l.read(), apps, keys)
	if err != nil {
		return nil, fmt.Errorf("look up idempotency keys: %w", err)
	}
	items := make(map[int]AcceptedItem, len(known))
	for i, key := range keys {
		k, ok := known[appKey{app, key}]
		switch {
		case !ok:
		case fingerprints[i] != "" && k.fingerprint != fingerprints[i]:
			return nil, &MismatchError{Index: i}
		default:
			items[i] = AcceptedItem{MessageID: k.message, BatchID: k.batch, Replayed: true, Gone: k.gone}
		}
	}
	return items, nil
}

func lookupKeys(ctx context.Context, t *tx, apps []postledger.ID, keys []string) (map[appKey]knownKey, error) {
	known := map[appKey]knownKey{}
	queueKeys(t, apps, keys, known)
	return known, t.flush(ctx)
}

func queueKeys(t *tx, apps []postledger.ID, keys []string, known map[appKey]knownKey) {
	if len(keys) == 0 {
		return
	}
	scan := func(r row) error {
		var k appKey
		var v knownKey
		err := r.Scan(&k.app, &k.key, &v.fingerprint, &v.message, &v.batch, &v.gone)
		known[k] = v
		return err
	}
	const what = "look up idempotency keys"
	const columns = `SELECT k.app_id, k.key, k.fingerprint, k.message_id, k.batch_id, m.id IS NULL
		FROM idempotency_keys k LEFT JOIN messages m ON m.id = k.message_id `
	if t.dialect == postgres {
		t.queueRead(what, scan, columns+`JOIN unnest($1::uuid[], $2::text[]) AS q(app_id, key)
			ON k.app_id = q.app_id AND k.key = q.key`, apps, keys)
		return
	}
	for i := range keys {
		t.queueRead(what, scan, columns+`WHERE k.app_id = ? AND k.key = ?`, apps[i], keys[i])
	}
}

type countKey struct {
	app, profile postledger.ID
	lane         postledger.Lane
}

func compareIDs(a, b postledger.ID) int { return slices.Compare(a[:], b[:]) }

// acceptCount is what a group adds to one of accept's own counts, which books
// compares with the rows.
type acceptCount struct {
	countKey
	messages, deliveries int64
}

// countsOf sums them up, in the order in which their rows are locked.
func countsOf(live []*answer) []acceptCount {
	var out []acceptCount
	for _, a := range live {
		for _, i := range a.fresh {
			m := &a.req.Messages[i]
			k := countKey{a.req.AppID, a.req.ProfileID, m.Message.Lane}
			at := slices.IndexFunc(out, func(c acceptCount) bool { return c.countKey == k })
			if at < 0 {
				at, out = len(out), append(out, acceptCount{countKey: k})
			}
			out[at].messages++
			out[at].deliveries += int64(len(m.Deliveries))
		}
	}
	slices.SortFunc(out, func(a, b acceptCount) int {
		if c := compareIDs(a.app, b.app); c != 0 {
			return c
		}
		if c := compareIDs(a.profile, b.profile); c != 0 {
			return c
		}
		return strings.Compare(string(a.lane), string(b.lane))
	})
	return out
}

// countAccept counts one of them.
const countAccept = `INSERT INTO accept_counts (hour, app_id, profile_id, lane, messages, deliveries)
	VALUES (?, ?, ?, ?, ?, ?)
	ON CONFLICT (hour, app_id, profile_id, lane) DO UPDATE SET
		messages = accept_counts.messages + excluded.messages,
		deliveries = accept_counts.deliveries + excluded.deliveries`

const (
	microsPerHour   = int64(time.Hour / time.Microsecond)
	microsPerMinute = int64(time.Minute / time.Microsecond)
)
