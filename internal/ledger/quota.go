package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/postledger/postledger"
)

// quotaWindow is the length of the quota's window in whole minutes.
const quotaWindow = 1440

type quotaKey struct{ app, profile postledger.ID }

type quotaCharge struct {
	quotaKey
	n     int64
	limit *int64
}

// bound is the limit, or one that is never reached.
func (c quotaCharge) bound() int64 {
	if c.limit == nil {
		return 1 << 62
	}
	return *c.limit
}

// quotaRow is the running sum and the minute up to which it has been swept.
type quotaRow struct{ used, swept int64 }

// queueQuotas reads the sums of a group's quotas, without a lock.
func queueQuotas(t *tx, group []*answer) map[quotaKey]quotaRow {
	var keys []quotaKey
	for _, a := range group {
		if k := (quotaKey{a.req.AppID, a.req.ProfileID}); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	out := make(map[quotaKey]quotaRow, len(keys))
	for _, k := range keys {
		t.queueRead("read quota", func(r row) error {
			var q quotaRow
			err := r.Scan(&q.used, &q.swept)
			out[k] = q
			return err
		}, `SELECT used, swept FROM quotas WHERE app_id = ? AND profile_id = ?`, k.app, k.profile)
	}
	return out
}

// chargesOf sums up what a group adds to each quota, sorted so that two
// processes never wait for each other in a circle.
func chargesOf(live []*answer) []quotaCharge {
	var out []quotaCharge
	for _, a := range live {
		k := quotaKey{a.req.AppID, a.req.ProfileID}
		i := slices.IndexFunc(out, func(c quotaCharge) bool { return c.quotaKey == k })
		if i < 0 {
			i, out = len(out), append(out, quotaCharge{quotaKey: k})
		}
		out[i].limit = a.req.Quota
		for _, j := range a.fresh {
			out[i].n += int64(len(a.req.Messages[j].Deliveries))
		}
	}
	slices.SortFunc(out, func(a, b quotaCharge) int {
		if c := compareIDs(a.app, b.app); c != 0 {
			return c
		}
		return compareIDs(a.profile, b.profile)
	})
	return out
}

// chargeQuotas adds the group's new recipients to each quota. It is what runs
// last, so that the row is locked once per group and for the commit only. The
// check is part of the UPDATE: the database evaluates it on the current row, so
// it is exact whatever runs beside it (invariant 7). A sum read beforehand is not.
func chargeQuotas(ctx context.Context, t *tx, live []*answer, charges []quotaCharge, minute int64) error {
	if err := t.flush(ctx); err != nil {
		return err
	}
	for _, c := range charges {
		ok, err := chargeQuota(ctx, t, c.quotaKey, c, minute)
		if err != nil {
			return fmt.Errorf("charge quota: %w", err)
		}
		if ok {
			continue
		}
		if len(live) > 1 {
			return errGroupQuota
		}
		if live[0].err, err = quotaExceeded(ctx, t, c.quotaKey, c, minute, 0); err != nil {
			return fmt.Errorf("read quota: %w", err)
		}
		return errGroupQuota
	}
	return nil
}

// refuseOverQuota refuses the requests of a group that the quota has no room
// for, in their order, so that an app that is over its quota does not make the
// whole group fail and every other app's request a commit of its own. It reads
// without a lock: what it lets through, the charge decides.
func refuseOverQuota(ctx context.Context, t *tx, group []*answer, rows map[quotaKey]quotaRow, now int64) error {
	minute := now / microsPerMinute
	used, pending := map[quotaKey]int64{}, map[quotaKey]int64{}
	refusals := map[quotaKey]error{}
	for _, a := range group {
		if a.err != nil || len(a.fresh) == 0 || a.req.Quota == nil {
			continue
		}
		k := quotaKey{a.req.AppID, a.req.ProfileID}
		if _, ok := used[k]; !ok {
			var err error
			if used[k], err = usedNow(ctx, t, k, rows[k], minute); err != nil {
				return err
			}
		}
		var n int64
		for _, i := range a.fresh {
			n += int64(len(a.req.Messages[i].Deliveries))
		}
		if used[k]+pending[k]+n <= *a.req.Quota {
			pending[k] += n
			continue
		}
		if e, ok := refusals[k].(*QuotaError); ok && e.Requested == n && e.Used == used[k]+pending[k] {
			a.err = e
			continue
		}
		var err error
		if a.err, err = quotaExceeded(ctx, t, k, quotaCharge{n: n, limit: a.req.Quota}, minute, pending[k]); err != nil {
			return fmt.Errorf("read quota: %w", err)
		}
		refusals[k] = a.err
	}
	return nil
}

// readQuota is what the window holds.
func readQuota(ctx context.Context, t *tx, k quotaKey, minute int64) (int64, error) {
	var q quotaRow
	err := t.row(ctx, []any{&q.used, &q.swept}, `SELECT used, swept FROM quotas WHERE app_id = ? AND profile_id = ?`, k.app, k.profile)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read quota: %w", err)
	}
	return usedNow(ctx, t, k, q, minute)
}

// usedNow is the running sum if it is of this minute, else its minutes added up.
func usedNow(ctx context.Context, t *tx, k quotaKey, q quotaRow, minute int64) (int64, error) {
	if q.swept == 0 || q.swept >= minute {
		return q.used, nil // swept is zero without a row
	}
	var used int64
	if err := t.row(ctx, []any{&used}, `SELECT CAST(coalesce(sum(n), 0) AS bigint) FROM quota_minutes
			WHERE app_id = ? AND profile_id = ? AND minute > ?`, k.app, k.profile, minute-quotaWindow); err != nil {
		return 0, fmt.Errorf("read quota: %w", err)
	}
	return used, nil
}

// chargeAccept is tryCharge in one statement of PostgreSQL's, which fails, as a
// division by zero, when the sum is not of this minute or would pass the limit:
// what comes with it must not be committed then.
const chargeAccept = `WITH q AS (
		UPDATE quotas SET used = used + $1::bigint
		WHERE app_id = $2::uuid AND profile_id = $3::uuid AND swept >= $4::bigint AND used + $1 <= $5::bigint RETURNING 1),
	m AS (INSERT INTO quota_minutes (app_id, profile_id, minute, n) SELECT $2, $3, $4, $1 FROM q
		ON CONFLICT (app_id, profile_id, minute) DO UPDATE SET n = quota_minutes.n + excluded.n)
	SELECT 1 / count(*) FROM q`

func chargeQuota(ctx context.Context, t *tx, k quotaKey, c quotaCharge, minute int64) (bool, error) {
	ok, err := tryCharge(ctx, t, k, c, minute)
	if ok || err != nil {
		return ok, err
	}
	// The row is new, or minutes have left the window since it was swept.
	if _, err := t.exec(ctx, `INSERT INTO quotas (app_id, profile_id, used, swept) VALUES (?, ?, 0, ?)
		ON CONFLICT (app_id, profile_id) DO NOTHING`, k.app, k.profile, minute); err != nil {
		return false, err
	}
	if err := sweepQuota(ctx, t, k, minute); err != nil {
		return false, err
	}
	return tryCharge(ctx, t, k, c, minute)
}

// tryCharge adds to the running sum and to the minute's own row, if the sum is
// of this window and stays within the limit.
func tryCharge(ctx context.Context, t *tx, k quotaKey, c quotaCharge, minute int64) (bool, error) {
	n, err := t.exec(ctx, `UPDATE quotas SET used = used + ? WHERE app_id = ? AND profile_id = ? AND swept >= ? AND used + ? <= ?`,
		c.n, k.app, k.profile, minute, c.n, c.bound())
	if err != nil || n == 0 {
		return false, err
	}
	_, err = t.exec(ctx, `INSERT INTO quota_minutes (app_id, profile_id, minute, n) VALUES (?, ?, ?, ?)
		ON CONFLICT (app_id, profile_id, minute) DO UPDATE SET n = quota_minutes.n + excluded.n`,
		k.app, k.profile, minute, c.n)
	return err == nil, err
}

// sweepQuota takes the minutes that left the window off the sum. The row lock
// comes first: minutes change only under it, so the delete that follows sees
// every committed one.
func sweepQuota(ctx context.Context, t *tx, k quotaKey, minute int64) error {
	var swept int64
	if err := t.row(ctx, []any{&swept}, `SELECT swept FROM quotas WHERE app_id = ? AND profile_id = ?`+t.forUpdate(), k.app, k.profile); err != nil {
		return err
	}
	if swept >= minute {
		return nil
	}
	var gone int64
	if err := t.each(ctx, func(r *sql.Rows) error {
		var n int64
		err := r.Scan(&n)
		gone += n
		return err
	}, `DELETE FROM quota_minutes WHERE app_id = ? AND profile_id = ? AND minute <= ? RETURNING n`,
		k.app, k.profile, minute-quotaWindow); err != nil {
		return err
	}
	_, err := t.exec(ctx, `UPDATE quotas SET used = used - ?, swept = ? WHERE app_id = ? AND profile_id = ?`, gone, minute, k.app, k.profile)
	return err
}

// quotaExceeded describes the refusal: when the oldest minutes that must leave
// the window will have left it. pending is what the same group is about to
// charge, in this minute.
func quotaExceeded(ctx context.Context, t *tx, k quotaKey, c quotaCharge, minute, pending int64) (error, error) {
	e := &QuotaError{Requested: c.n}
	if c.limit != nil {
		e.Limit = *c.limit
	}
	var err error
	if e.Used, err = readQuota(ctx, t, k, minute); err != nil {
		return nil, err
	}
	e.Used += pending
	if c.n > e.Limit {
		return e, nil
	}
	over := e.Used + c.n - e.Limit
	err = t.each(ctx, func(r *sql.Rows) error {
		var m, n int64
		if err := r.Scan(&m, &n); err != nil {
			return err
		}
		if over > 0 {
			if over -= n; over <= 0 {
				e.ResetsAt = time.Unix((m+quotaWindow)*60, 0).UTC()
			}
		}
		return nil
	}, `SELECT minute, n FROM quota_minutes WHERE app_id = ? AND profile_id = ? AND minute > ? ORDER BY minute LIMIT 1500`,
		k.app, k.profile, minute-quotaWindow)
	if over > 0 && e.ResetsAt.IsZero() {
		e.ResetsAt = time.Unix((minute+quotaWindow)*60, 0).UTC() // only what is pending is left to wait for
	}
	return e, err
}

// refundQuota gives back recipients that were canceled before they left, each
// from the minute it was charged in.
func refundQuota(ctx context.Context, t *tx, k quotaKey, minute, n int64) error {
	// The sum's row first, as a charge does.
	var swept int64
	err := t.row(ctx, []any{&swept}, `SELECT swept FROM quotas WHERE app_id = ? AND profile_id = ?`+t.forUpdate(), k.app, k.profile)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	changed, err := t.exec(ctx, `UPDATE quota_minutes SET n = n - ? WHERE app_id = ? AND profile_id = ? AND minute = ? AND n >= ?`,
		n, k.app, k.profile, minute, n)
	if err != nil || changed == 0 {
		return err // the minute has left the window, and the sum with it
	}
	_, err = t.exec(ctx, `UPDATE quotas SET used = used - ? WHERE app_id = ? AND profile_id = ?`, n, k.app, k.profile)
	return err
}

// CheckQuota reports a *QuotaError when n more recipients would not be taken
// now. It is for a look before something dear is done, such as an upload; only
// the charge in Accept decides.
func (l *Ledger) CheckQuota(ctx context.Context, app, profile postledger.ID, limit *int64, n int64) error {
	if limit == nil {
		return nil
	}
	t := l.read()
	now, err := t.nowMicros(ctx)
	if err != nil {
		return err
	}
	k, minute := quotaKey{app, profile}, now/microsPerMinute
	used, err := readQuota(ctx, t, k, minute)
	if err != nil {
		return err
	}
	if used+n <= *limit {
		return nil
	}
	exceeded, err := quotaExceeded(ctx, t, k, quotaCharge{n: n, limit: limit}, minute, 0)
	if err != nil {
		return fmt.Errorf("read quota: %w", err)
	}
	return exceeded
}
