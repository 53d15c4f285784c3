package mcp

//lint:file-ignore SA1019 logging is deprecated and in use.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

func (conn *connection) sendOnce(ctx context.Context, r *request, p *pendingRequest) (json.RawMessage, error) {
	if err := conn.start(ctx, p, r); err != nil {
		return nil, err
	}
	defer p.finish()
	params, err := conn.encode(r, p.opts.ProgressToken)
	if err != nil {
		return nil, WithOutcome(err, NotSent)
	}
	r.trace.departs(conn, &p.opts)
	conn.noteID(p)
	result, err := conn.exchangeOn(p, r.method, params, &p.opts)
	now := time.Now() // of which a call needs few: it is a large part of a small one
	took := int64(now.Sub(conn.opened) - p.started)
	mean := cmp.Or(conn.shared.service.Load(), took)
	conn.shared.service.Store(max(mean+(took-mean)/16, 1)) // one of several at the same time may be lost
	outcome := OutcomeOf(err)
	given, _ := p.ended()
	switch {
	case outcome == Answered:
		conn.pulse.BeatAt(now)
	case given != nil:
		conn.noteGivenUp()
	}
	if outcome == Unknown {
		conn.pulse.Abandoned(r.total)
	}
	if err == nil || ctx.Err() != nil {
		return result, err
	}
	err = conn.lookInto(p, err)
	if ended, cause := p.ended(); ended != nil && errors.Is(err, ended) {
		err = WithOutcome(cause, OutcomeOf(err))
	}
	return nil, err
}

// encode writes the parameters of the request for one connection.
func (conn *connection) encode(r *request, token int64) (json.RawMessage, error) {
	size := len(conn.meta) + 64
	for _, m := range r.params {
		size += len(m.key) + len(m.value) + 4
	}
	if !conn.info.tasks.calls {
		r.params[paramTask].value = nil // whatever the server before this one could
	}
	out := append(make([]byte, 0, size), `{"_meta":{`...)
	empty := len(out)
	out = append(out, conn.metaWith(r.capabilities)...)
	if _, own := r.meta[protocol.MetaLogLevel]; conn.modern() && !own {
		if level := conn.shared.logLevel(); level != "" {
			out = append(append(append(out, `"`+protocol.MetaLogLevel+`":"`...), level...), `",`...)
		}
	}
	if token != 0 {
		out = append(out, `"progressToken":`...)
		out = strconv.AppendInt(out, token, 10)
		out = append(out, ',')
	}
	for key, value := range r.meta {
		if key == "progressToken" || len(conn.meta) > 0 && isRequestMeta(key) {
			continue // set already, and two of a key mean nothing
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("_meta %q: %w", key, err)
		}
		out = append(append(append(appendQuoted(out, key), ':'), text...), ',')
	}
	out = r.trace.appendMeta(out)
	if len(out) == empty {
		return r.appendParams(append(out[:0], '{')), nil
	}
	out[len(out)-1] = '}'
	return r.appendParams(out), nil
}

// tellServer sends a request whose result is nothing, on one connection alone.
func (conn *connection) tellServer(ctx context.Context, method string, param member) error {
	r := &request{}
	r.fill(method, conn.shared.opts.IdleTimeout, conn.shared.opts.IdleTimeout, []member{param})
	if _, err := conn.sendOnce(ctx, r, &pendingRequest{}); err != nil {
		return conn.shared.explain(r, err)
	}
	return nil
}

// tellLevel tells a server of an older revision the present level. The last one
// told is always the last one set.
func (conn *connection) tellLevel(ctx context.Context) error {
	//lint:ignore SA1019 logging is deprecated and in use
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
