package redishot

import (
	"context"
	"fmt"

	"github.com/postledger/postledger/jobs"
)

// Depth is jobs.Hot's.
func (s *Set) Depth(ctx context.Context) (jobs.Depth, error) {
	v, err := s.run(ctx, s.scripts.depth, nil).Int64Slice()
	if err == nil && len(v) != 10 {
		err = fmt.Errorf("an answer of %d parts", len(v))
	}
	if err != nil {
		return jobs.Depth{}, unavailable("read the depth", err)
	}
	return jobs.Depth{
		Jobs: int(v[0]), Bytes: v[1],
		Fast:   jobs.LaneDepth{Jobs: int(v[0] - v[2]), Bytes: v[1] - v[3], Waiting: int(v[4]), Below: v[8] == 1},
		Slow:   jobs.LaneDepth{Jobs: int(v[2]), Bytes: v[3], Waiting: int(v[5]), Below: v[9] == 1},
		Active: int(v[6]), Delayed: int(v[7]),
	}, nil
}

// AwaitRoom is jobs.Hot's.
func (s *Set) AwaitRoom(ctx context.Context, lane jobs.Lane) error {
	for pause := firstPoll; ; pause = min(2*pause, lastPoll) {
		depth, err := s.Depth(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if depth.Of(lane).Below || !wait(ctx, pause) {
			return nil
		}
	}
}
