package mcp

import (
	"context"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// tellLevel tells a server of an older revision the present level. The last one
// told is always the last one set.
func (conn *connection) tellLevel(ctx context.Context) error {
	if conn.modern() || conn.info.capabilities.Logging == nil {
		return nil
	}
	unlock, err := conn.shared.locks.Lock(ctx, "level")
	if err != nil {
		return conn.shared.explain(&request{method: protocol.SetLogLevel}, WithOutcome(err, NotSent))
	}
	defer unlock()
	level := conn.shared.logLevel()
	if level == "" {
		if !conn.levelSet {
			return nil
		}
		level = leastLog
	}
	conn.levelSet = true
	return conn.tellServer(ctx, protocol.SetLogLevel, member{"level", appendQuoted(nil, string(level))})
}

// greetWithLevel tells a server the level on a new connection, once that is public: a
// call that sets another level from then on sends it to the server itself.
func (conn *connection) greetWithLevel() {
	if conn.shared.logLevel() == "" {
		return
	}
	conn.run(func() {
		if err := conn.tellLevel(conn.ctx); err != nil && conn.ctx.Err() == nil {
			conn.shared.opts.Logger.Warn("mcp: the server was not told what to log", "server", conn.shared.name, "error", err)
		}
	})
}

// tellRoots tells the server that the roots have changed.
func (conn *connection) tellRoots(ctx context.Context) error {
	return conn.notify(ctx, &jsonrpc.Request{Method: protocol.NoteRootsChanged})
}

// catchUpOnRoots tells a server whose connection is being published that the roots have changed
// since it began: it may have asked for them before. The client is locked.
func (conn *connection) catchUpOnRoots() {
	if conn.modern() || conn.shared.roots.Load() == conn.roots {
		return
	}
	conn.run(func() {
		ctx, stop := context.WithTimeout(conn.ctx, cancelTimeout)
		defer stop()
		_ = conn.tellRoots(ctx)
	})
}

// handLogsOn runs until no message is left. Once the client is closed they are dropped.
func (s *shared) handLogsOn() {
	for m := s.logs.next(); m != nil; m = s.logs.next() {
		if s.closing.Err() == nil {
			s.handLogOn(m)
		}
	}
}

// handLogOn hands a log message to Log, or to Logger if that is nil.
func (s *shared) handLogOn(m *LogMessage) {
	defer func() {
		if r := recover(); r != nil {
			s.opts.Logger.Error("mcp: the handler of log messages panicked", "server", s.name, "panic", r)
		}
	}()
	if s.opts.Log != nil {
		s.opts.Log(m)
		return
	}
	attrs := []slog.Attr{slog.String("server", s.name), slog.String("data", harmless(m.Data))}
	if m.Logger != "" {
		attrs = append(attrs, slog.String("logger", harmless(appendQuoted(nil, m.Logger))))
	}
	if m.Dropped > 0 {
		attrs = append(attrs, slog.Int("dropped", m.Dropped))
	}
	s.opts.Logger.LogAttrs(s.closing, slogLevels[m.Level], "mcp: the server logs", attrs...)
}
