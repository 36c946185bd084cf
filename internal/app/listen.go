package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

const (
	// maxConnections bounds the open connections of a listener; each costs
	// some 20 KiB while it is idle: 80 MiB. More wait in the kernel's queue.
	maxConnections = 4096
	// headerTimeout and idleTimeout end connections that nobody uses. Bodies
	// and answers have limits of their own, set by the API.
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
)

// listener is one HTTP server on one address.
type listener struct {
	server *http.Server
	socket net.Listener
	done   chan error // the end of Serve; nil when it was told to end
}

// bind takes the address, so that a start fails before anything is sent.
func bind(addr string) (net.Listener, error) {
	socket, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return socket, nil
}

// serve answers on a bound address.
func serve(socket net.Listener, h http.Handler, log *slog.Logger) *listener {
	l := &listener{
		server: &http.Server{
			Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
			ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		},
		socket: socket,
		done:   make(chan error, 1),
	}
	go func() {
		err := l.server.Serve(netutil.LimitListener(socket, maxConnections))
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		l.done <- err
	}()
	return l
}

// stop answers the requests under way; those that ctx does not wait for are cut.
func (l *listener) stop(ctx context.Context) error {
	err := l.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests were cut off: %w", err), l.server.Close())
	}
	<-l.done
	return err
}

func (l *listener) addr() string { return l.socket.Addr().String() }
