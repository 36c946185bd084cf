package smtp

import (
	"errors"
	"io"
	"net"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport"
)

// failure is an outcome that no reply of the hop describes.
func failure(class postledger.OutcomeClass, phase postledger.Phase, text string) postledger.Outcome {
	return postledger.Outcome{
		Class:  class,
		Phase:  phase,
		Reason: transport.ReasonOf(class),
		Text:   transport.OneLine(text, nil),
	}
}

// lost is the outcome of a connection that failed.
func lost(class postledger.OutcomeClass, phase postledger.Phase, err error) postledger.Outcome {
	var timeout net.Error
	text := "connection failed: " + err.Error()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		text = "the next hop closed the connection"
	case errors.Is(err, transport.ErrBadReply):
		text = "the next hop answered what is no reply: " + err.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		text = "the next hop did not answer in time"
	}
	return failure(class, phase, text)
}

// stopped is the outcome of what was given up before its final dot.
func stopped(phase postledger.Phase, text string) postledger.Outcome {
	return failure(postledger.OutcomeReturned, phase, text)
}
