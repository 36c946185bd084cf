package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/postledger/postledger/internal/audience"
)

// progressEvery is how often an answer in lines says how far it is. It is also what
// tells proxies that somebody is there.
const progressEvery = time.Second

// lines is an answer that comes in lines. The first progress begins it; then a
// goroutine writes a line a second, also while the source is slow, until end.
type lines struct {
	w  http.ResponseWriter
	on bool
	// begun says that the head of the answer has gone; it is the caller's after end.
	begun bool
	stop  chan struct{}
	done  sync.WaitGroup

	mu   sync.Mutex
	last progressLine
}

// progress notes how far the count is.
func (l *lines) progress(p audience.Progress) {
	if !l.on {
		return
	}
	l.mu.Lock()
	l.last = progressLine{p.Read, p.Of}
	l.mu.Unlock()
	if l.begun {
		return
	}
	l.begun, l.stop = true, make(chan struct{})
	_ = l.put(progressView{Progress: &progressLine{p.Read, p.Of}}) // who is gone cancels the request
	l.done.Go(l.tick)
}

func (l *lines) tick() {
	t := time.NewTicker(progressEvery)
	defer t.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-t.C:
			l.mu.Lock()
			last := l.last
			l.mu.Unlock()
			_ = l.put(progressView{Progress: &last})
		}
	}
}

// end waits for the last line of progress.
func (l *lines) end() {
	if l.stop != nil {
		close(l.stop)
		l.done.Wait()
		l.stop = nil
	}
}

// put writes one line and sends it off.
func (l *lines) put(v progressView) error {
	l.w.Header().Set("Content-Type", ndjson)
	rc := http.NewResponseController(l.w)
	// A long answer has its time line by line. Neither is supported everywhere.
	_ = rc.SetWriteDeadline(time.Now().Add(answerTimeout))
	if err := writeJSON(l.w, v); err != nil {
		return err
	}
	return rc.Flush()
}

// writeJSON writes a value in one line, HTML as it is.
func writeJSON(w http.ResponseWriter, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}
