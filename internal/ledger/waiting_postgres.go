package ledger

import (
	"context"
	"database/sql"
	"slices"

	"github.com/postledger/postledger"
)

// waitingPostgres looks at what lies between the passed keys, and at each of them
// from its cursor on. Every answer carries the clock, and so does one without a
// key.
//
// What lies between is looked at in two parts, profiles of which no key was passed
// and, within the others, a lane's apps: an index scan that ends at a comparison of
// rows goes on, past the row it compares with, until the first column differs.
func (t *tx) waitingPostgres(ctx context.Context, passed []Passed) (Waits, error) {
	var p struct {
		profiles, apps, ids [][16]byte
		lanes               []string
		dues                []int64
	}
	for _, at := range passed {
		p.profiles, p.lanes, p.apps = append(p.profiles, at.Key.Profile), append(p.lanes, string(at.Key.Lane)), append(p.apps, at.Key.App)
		p.dues, p.ids = append(p.dues, at.After.Due), append(p.ids, at.After.ID)
	}
	gaps := gapsBetween(passed)
	var w Waits
	scan := func(rows *sql.Rows) error {
		var k ClaimKey
		var lane sql.NullString
		err := rows.Scan(&w.Now, idColumn{&k.Profile}, &lane, idColumn{&k.App})
		if k.Lane = postledger.Lane(lane.String); lane.Valid {
			w.Keys = append(w.Keys, k)
		}
		return err
	}
	err := t.each(ctx, scan, `WITH RECURSIVE profile AS (
			SELECT n.*, low FROM unnest($6::uuid[], $7::uuid[]) AS g(low, high) CROSS JOIN LATERAL (
				SELECT d.profile_id, d.lane, d.app_id FROM deliveries d
				WHERE d.due_at IS NOT NULL AND d.profile_id > low AND d.profile_id < high
				ORDER BY d.profile_id DESC, d.lane DESC, d.app_id DESC, d.due_at DESC, d.id DESC LIMIT 1) n
			UNION ALL
			SELECT n.*, low FROM profile k CROSS JOIN LATERAL (
				SELECT d.profile_id, d.lane, d.app_id FROM deliveries d
				WHERE d.due_at IS NOT NULL AND d.profile_id > low AND (d.profile_id, d.lane, d.app_id) < (k.profile_id, k.lane, k.app_id)
				ORDER BY d.profile_id DESC, d.lane DESC, d.app_id DESC, d.due_at DESC, d.id DESC LIMIT 1) n),
		app AS (
			SELECT g.profile_id, g.lane, n.app_id, low
			FROM unnest($8::uuid[], $9::text[], $10::uuid[], $11::uuid[]) AS g(profile_id, lane, low, high) CROSS JOIN LATERAL (
				SELECT d.app_id FROM deliveries d
				WHERE d.due_at IS NOT NULL AND d.profile_id = g.profile_id AND d.lane = g.lane AND d.app_id > low AND d.app_id < high
				ORDER BY d.app_id DESC, d.due_at DESC, d.id DESC LIMIT 1) n
			UNION ALL
			SELECT k.profile_id, k.lane, n.app_id, low FROM app k CROSS JOIN LATERAL (
				SELECT d.app_id FROM deliveries d
				WHERE d.due_at IS NOT NULL AND d.profile_id = k.profile_id AND d.lane = k.lane AND d.app_id > low AND d.app_id < k.app_id
				ORDER BY d.app_id DESC, d.due_at DESC, d.id DESC LIMIT 1) n),
		passed AS (
			SELECT p.profile_id, p.lane, p.app_id
			FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::bigint[], $5::uuid[]) AS p(profile_id, lane, app_id, after_due, after_id)
			CROSS JOIN LATERAL (
				SELECT 1 FROM deliveries d
				WHERE d.profile_id = p.profile_id AND d.lane = p.lane AND d.app_id = p.app_id
					AND d.due_at IS NOT NULL AND (d.due_at, d.id) > (p.after_due, p.after_id)
				ORDER BY d.due_at DESC, d.id DESC LIMIT 1) d)
		SELECT now_us(), w.profile_id, w.lane, w.app_id FROM (SELECT 1) one LEFT JOIN (
			SELECT profile_id, lane, app_id FROM profile UNION ALL
			SELECT profile_id, lane, app_id FROM app UNION ALL
			SELECT * FROM passed) w ON true`,
		p.profiles, p.lanes, p.apps, p.dues, p.ids, gaps.lowProfiles, gaps.highProfiles,
		gaps.profiles, gaps.lanes, gaps.lowApps, gaps.highApps)
	return w, err
}

// keyGaps is what lies between keys, without their ends.
type keyGaps struct {
	lowProfiles, highProfiles [][16]byte
	// profiles and lanes are where the gaps between apps are.
	profiles          [][16]byte
	lanes             []string
	lowApps, highApps [][16]byte
}

func gapsBetween(passed []Passed) keyGaps {
	type place struct {
		profile postledger.ID
		lane    postledger.Lane
	}
	var profiles []postledger.ID
	apps := map[place][]postledger.ID{}
	for _, p := range passed {
		k := p.Key
		profiles = append(profiles, k.Profile)
		apps[place{k.Profile, k.Lane}] = append(apps[place{k.Profile, k.Lane}], k.App)
	}
	slices.SortFunc(profiles, compareIDs)
	profiles = slices.Compact(profiles)
	var g keyGaps
	between(profiles, func(low, high postledger.ID) {
		g.lowProfiles, g.highProfiles = append(g.lowProfiles, low), append(g.highProfiles, high)
	})
	for _, profile := range profiles {
		for _, lane := range []postledger.Lane{postledger.LaneImmediate, postledger.LaneBulk} {
			ids := apps[place{profile, lane}]
			slices.SortFunc(ids, compareIDs)
			between(ids, func(low, high postledger.ID) {
				g.profiles, g.lanes = append(g.profiles, profile), append(g.lanes, string(lane))
				g.lowApps, g.highApps = append(g.lowApps, low), append(g.highApps, high)
			})
		}
	}
	return g
}

// between visits what lies before, between and behind the ids.
func between(ids []postledger.ID, visit func(low, high postledger.ID)) {
	var low, last postledger.ID // the zero id lies before all ids, and last behind them
	for i := range last {
		last[i] = 0xff
	}
	for _, id := range ids {
		visit(low, id)
		low = id
	}
	visit(low, last)
}
