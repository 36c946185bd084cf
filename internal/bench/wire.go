package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/mime"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/internal/transport"
	"github.com/postledger/postledger/internal/transport/smtp"
)

// roundTrip is what the proxy in front of the sink adds.
const roundTrip = 20 * time.Millisecond

const (
	wirePipelined = "wire at 20 ms: 32 connections"
	wirePlain     = "wire at 20 ms: 32 connections without PIPELINING"
	wireOne       = "wire at 20 ms: one connection without PIPELINING"
)

func (b *bench) wire(i int) error {
	plain, err := startSink(sinkConfig{NoPipelining: true})
	if err != nil {
		return err
	}
	defer plain.stop()
	// About two seconds each.
	return b.pair(
		i,
		step{wirePipelined, "wire", "", job{Sink: b.s.sink.addr, N: 1_400, Clients: bulkConnections}},
		step{wirePlain, "wire", "", job{Sink: plain.addr, N: 700, Clients: bulkConnections}},
		step{wireOne, "wire", "", job{Sink: plain.addr, N: 24, Clients: 1}},
	)
}

func (b *bench) judgeWire() error {
	b.figures.atLeast("rate of 32 connections at 20 ms, of the same without PIPELINING", wirePipelined, wirePlain, rateOf, 1.8)
	b.figures.atLeast("rate of 32 connections at 20 ms, of one without PIPELINING", wirePipelined, wireOne, rateOf, 45)
	return nil
}

// sendAtDistance sends N messages over as many connections as clients, which
// have all been made and used before it is measured.
func sendAtDistance(j *job) (r result, err error) {
	h := &host{}
	defer h.close()
	proxy := testserver.Proxy(h, j.Sink)
	proxy.Delay(roundTrip)
	name, number, err := net.SplitHostPort(proxy.Addr())
	if err != nil {
		return r, err
	}
	port, err := strconv.Atoi(number)
	if err != nil {
		return r, err
	}
	t, err := smtp.New(smtp.Config{Host: name, Port: port, TLS: smtp.TLSNone, HelloName: "bench.example", MaxConnections: j.Clients})
	if err != nil {
		return r, err
	}
	defer t.Close()
	letter, err := letterBytes()
	if err != nil {
		return r, err
	}
	var ids postledger.IDSource
	send := func(int) error {
		e := &transport.Envelope{ID: ids.Next(time.Now()), ReturnPath: from, Recipients: []string{recipient(0, 0)}, Message: letter}
		if out := t.Send(context.Background(), e, silent{}); out[0].Class != postledger.OutcomeAccepted {
			return fmt.Errorf("not accepted: %s", out[0].Text)
		}
		return nil
	}
	if err := clients(j.Clients, j.Clients, send); err != nil {
		return r, err
	}
	m, err := startMeter("")
	if err != nil {
		return r, err
	}
	if err := clients(j.N, j.Clients, send); err != nil {
		return r, err
	}
	return m.stop()
}

// silent is a wire that nobody keeps a journal of.
type silent struct{}

func (silent) Begun([]postledger.Outcome) error { return nil }
func (silent) Answered([]postledger.Outcome)    {}

// octets are a message as it stands.
type octets []byte

func (o octets) Size() int64 { return int64(len(o)) }

func (o octets) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(o)
	return int64(n), err
}

// letterBytes is message 0 as the floor sends it.
func letterBytes() (octets, error) {
	text, html := bodies(0)
	m, err := mime.Compose(input([]byte{1, 2}, recipient(0, 0), subject, text, html, time.Now()))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err = m.WriteTo(&b)
	return b.Bytes(), err
}
