package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// connect makes a connection: with the probe for the newest revision, or
// without it if the era says so, and a second time without it if the probe
// seems to have ended the first.
func (s *shared) connect(era *era) (*connection, error) {
	ctx, stop := context.WithTimeout(s.closing, s.opts.ConnectTimeout)
	defer stop()
	for {
		version := era.version()
		conn, err := s.attempt(ctx, version, era.patient)
		if err == nil {
			era.succeeded(conn.info.revision)
			return conn, nil
		}
		if ctx.Err() != nil && s.closing.Err() == nil {
			err = fmt.Errorf("no connection within %v: %w", s.opts.ConnectTimeout, err)
		}
		if conn == nil || !era.failed(version, conn, err) || ctx.Err() != nil {
			return nil, visible(err)
		}
		if SafeToRetry(conn.lossErr()) {
			era.suspect = false // the probe never reached the server
			return nil, visible(err)
		}
	}
}

// attempt makes one connection within ctx. With an error it is closed, and nil if there was
// none.
func (s *shared) attempt(ctx context.Context, version string, patient bool) (*connection, error) {
	if s.opts.pinned() && !protocol.IsKnown(version) {
		return nil, &ProtocolVersionError{want: version, err: errors.New("this client does not know it")}
	}
	wire, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	patience := s.opts.probeTimeout()
	switch {
	case s.opts.pinned():
		patience = noTimeout // there is nothing else to try
	case patient:
		patience = s.opts.ConnectTimeout
	}
	conn := newConnection(s, wire)
	conn.wire.Receive(conn.receive, conn.noteEnd)
	if conn.info, err = conn.handshake(ctx, version, patience, false); err != nil {
		if err = conn.handshakeErr(ctx, err); ctx.Err() != nil {
			err = conn.withStrays(err)
		}
		conn.close(err)
		return conn, err
	}
	conn.opened = time.Now()
	conn.pulse.Beat()
	if conn.modern() {
		conn.meta = s.opts.requestMeta(conn.info.revision)
	}
	conn.ready.Store(true)
	conn.watchHealth()
	if err := conn.follow(ctx); err != nil {
		conn.sessionEnds(err)
		conn.close(err)
		return conn, err
	}
	return conn, nil
}

// dial makes the transport's connection, giving up on one that outlasts ctx.
func (s *shared) dial(ctx context.Context) (Conn, error) {
	type dialed struct {
		conn Conn
		err  error
	}
	done := make(chan dialed, 1)
	go func() {
		conn, err := s.transport.Connect(ctx)
		if err == nil && nils.Is(conn) {
			err = errors.New("the transport returned neither a connection nor an error")
		}
		done <- dialed{conn, err}
	}()
	select {
	case d := <-done:
		return d.conn, d.err
	case <-ctx.Done():
		within(closeTimeout, func() {
			if d := <-done; d.err == nil {
				_ = d.conn.Close()
			}
		})
		return nil, ctx.Err()
	}
}

// sessionEnds tells the tracer of a connection that is about to end.
func (conn *connection) sessionEnds(cause error) {
	if conn.shared.tracing == nil {
		return
	}
	tracer, ok := conn.shared.tracing.tracer.(SessionTracer)
	if !ok {
		return
	}
	info := &SessionInfo{Server: conn.shared.name, Connection: conn.describe(), Duration: time.Since(conn.opened), Err: cause}
	if errors.Is(cause, ErrClosed) || errors.Is(cause, errRenewed) || conn.shared.closing.Err() != nil && errors.Is(cause, context.Canceled) {
		info.Err = nil
	}
	defer conn.shared.tracing.guard("SessionEnd")
	tracer.SessionEnd(info)
}
