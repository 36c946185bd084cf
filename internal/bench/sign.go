package main

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/journal"
	"github.com/postledger/postledger/internal/mime"
	"github.com/postledger/postledger/internal/mime/dkim"
)

// What the part "sign" measures.
const (
	signRSA     = "DKIM with RSA-2048, of the bare signature and hash"
	signEd25519 = "DKIM with Ed25519, of the bare signature and hash"
	signHashes  = "how often two signatures read the body"
	signJournal = "both records of the wire journal, and the slot given back"
)

func (b *bench) sign(i int) error {
	r, err := run("sign", job{Dir: filepath.Join(b.s.dir, fmt.Sprint("sign-", i))})
	for name, v := range r.Values {
		b.values[name] = append(b.values[name], v)
	}
	return err
}

func (b *bench) judgeSign() error {
	for _, bar := range []struct {
		name, unit string
		most       float64
	}{{signRSA, "×", 1.05}, {signEd25519, "×", 1.8}, {signHashes, "times", 1}, {signJournal, "µs", 0.5}} {
		b.figures.bar(bar.name, bar.unit, b.values[bar.name], fmt.Sprintf("≤ %.2f", bar.most), func(v float64) bool { return v <= bar.most })
	}
	return nil
}

// signAndRecord measures what has no server in it.
func signAndRecord(j *job) (r result, err error) {
	r.Values = map[string]float64{}
	text, html := bodies(0)
	m, err := mime.Compose(input([]byte{1, 2}, recipient(0, 0), subject, text, html, time.Now()))
	if err != nil {
		return r, err
	}
	var keys []dkim.Key
	for _, k := range []struct {
		algorithm dkim.Algorithm
		name      string
		opts      crypto.SignerOpts
		each      int // calls of a round: some 20 ms
	}{{dkim.RSA, signRSA, crypto.SHA256, 20}, {dkim.Ed25519, signEd25519, crypto.Hash(0), 500}} {
		private, err := dkim.GenerateKey(k.algorithm)
		if err != nil {
			return r, err
		}
		key := dkim.Key{Domain: "send.example", Selector: string(k.algorithm), Private: private}
		keys = append(keys, key)
		if r.Values[k.name], err = signatureRatio(m, key, k.opts, k.each); err != nil {
			return r, err
		}
	}
	signer, err := dkim.New(keys...)
	if err != nil {
		return r, err
	}
	counting := &bodyCount{Signer: signer}
	if err := m.Sign(counting); err != nil {
		return r, err
	}
	r.Values[signHashes] = float64(counting.n)
	r.Values[signJournal], err = journalMicros(j.Dir)
	return r, err
}

// signatureRatio takes turns between a signature and the least it can cost,
// since the machine's speed drifts; it is the median of the rounds.
func signatureRatio(m *mime.Message, key dkim.Key, opts crypto.SignerOpts, each int) (float64, error) {
	s, err := dkim.New(key)
	if err != nil {
		return 0, err
	}
	var message bytes.Buffer
	if _, err := m.WriteTo(&message); err != nil {
		return 0, err
	}
	timed := func(f func() error) (float64, error) {
		began := time.Now()
		for range each {
			if err := f(); err != nil {
				return 0, err
			}
		}
		return float64(time.Since(began)), nil
	}
	ours := func() error { return m.Sign(s) }
	floor := func() error {
		digest := sha256.Sum256(message.Bytes())
		_, err := key.Private.Sign(rand.Reader, digest[:], opts)
		return err
	}
	var ratios []float64
	for range 8 {
		o1, err1 := timed(ours)
		f1, err2 := timed(floor)
		f2, err3 := timed(floor)
		o2, err4 := timed(ours)
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			return 0, err
		}
		ratios = append(ratios, (o1+o2)/(f1+f2))
	}
	return middle(ratios), nil
}

// bodyCount counts how often the body is read for the fields of a Signer.
type bodyCount struct {
	mime.Signer
	n int
}

func (c *bodyCount) AppendSignature(dst, header []byte, body io.WriterTo) ([]byte, error) {
	return c.Signer.AppendSignature(dst, header, countedBody{body, &c.n})
}

type countedBody struct {
	io.WriterTo
	n *int
}

func (b countedBody) WriteTo(w io.Writer) (int64, error) {
	*b.n++
	return b.WriterTo.WriteTo(w)
}

// journalMicros is what an envelope of one recipient costs in the wire journal.
func journalMicros(dir string) (float64, error) {
	var ids postledger.IDSource
	next := func() postledger.ID { return ids.Next(time.Now()) }
	j, err := journal.Create(dir, journal.Owner{Ledger: next(), Worker: next()}, 64)
	if err != nil {
		return 0, err
	}
	defer j.Close()
	envelope, members := next(), []journal.Member{{Delivery: next(), Fence: 1}}
	outcomes := []postledger.Outcome{{
		Class: postledger.OutcomeAccepted, Phase: postledger.PhaseDot, Code: 250,
		Enhanced: postledger.EnhancedCode{2, 0, 0}, Text: "2.0.0 Ok: queued as 4FhG2b1xYzz3s", ProviderID: "4FhG2b1xYzz3s",
	}}
	const n = 200_000
	began := time.Now()
	for range n {
		slot, err := j.Begun(envelope, members, nil)
		if err != nil {
			return 0, err
		}
		if err := errors.Join(j.Answered(slot, outcomes), j.Free(slot)); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(began).Nanoseconds()) / 1000 / n, nil
}
