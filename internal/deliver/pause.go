package deliver

import (
	"context"
	"log/slog"
	"time"

	"github.com/postledger/postledger"
)

// recordPause writes down that this worker paused a profile by itself, so that
// people see the alarm and other workers stop too. Until the ledger has it,
// the policy loop tries again; nothing is sent meanwhile.
func (w *Worker) recordPause(profile postledger.ID, alarm string) {
	ctx, cancel := context.WithTimeout(w.work, w.c.Timeout)
	defer cancel()
	err := w.c.Pause(ctx, profile, alarm)
	w.mu.Lock()
	if l := w.lineups[profile]; l != nil {
		l.alarm, l.pauseRecorded = "", time.Now()
		if err != nil {
			l.alarm, l.pauseRecorded = alarm, time.Time{}
		}
	}
	w.mu.Unlock()
	if err != nil {
		w.c.Log.Error("record a profile's pause", slog.String("profile", profile.String()), slog.Any("error", err))
		return
	}
	w.Reload()
}

// recordPauses tries again what could not be recorded.
func (w *Worker) recordPauses() {
	alarms := map[postledger.ID]string{}
	w.mu.Lock()
	for id, l := range w.lineups {
		if l.alarm != "" {
			alarms[id] = l.alarm
		}
	}
	w.mu.Unlock()
	for id, alarm := range alarms {
		w.recordPause(id, alarm)
	}
}
