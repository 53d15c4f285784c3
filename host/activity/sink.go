package activity

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
)

// A Sink writes events down, or sends them on. [Slog], [OpenFile] and [NewMemory]
// make one.
type Sink interface {
	// Write writes events in the order in which they were recorded. It is called by
	// one goroutine at a time for each log, and has to return soon after ctx ends,
	// which it does after 30 seconds. It must not change what Arguments and Detail of
	// an event hold. If it returns an error none of the events is given to it again.
	Write(ctx context.Context, events []Event) error
}

// defaultMemory is how many events a [Memory] keeps if it is not told.
const defaultMemory = 1000

// A Memory is a [Sink] that keeps the newest events, for those who look at a running
// program. It is safe for concurrent use.
type Memory struct {
	mu   sync.Mutex
	ring []Event
	next int // where the next event goes, once the ring is full
	most int
}

// NewMemory returns a Memory of at most most events; 0 or less means
// 1000. Each takes about 1 KB, and at most 40 KB.
func NewMemory(most int) *Memory {
	return &Memory{most: most}
}

// Write implements [Sink].
func (m *Memory) Write(_ context.Context, events []Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.most <= 0 {
		m.most = defaultMemory
	}
	for _, e := range events {
		if len(m.ring) < m.most {
			m.ring = append(m.ring, e)
			continue
		}
		m.ring[m.next] = e
		m.next = (m.next + 1) % m.most
	}
	return nil
}

// Recent returns the newest events that filter wants, which may be nil, the newest
// first and at most limit; 0 or less means all that there are. Call [Log.Flush]
// before to have in them what was just recorded.
func (m *Memory) Recent(filter *Filter, limit int) []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Event
	for i := range m.ring {
		at := (m.next - 1 - i + 2*len(m.ring)) % len(m.ring)
		if e := &m.ring[at]; filter.Match(e) {
			if found = append(found, *e); len(found) == limit {
				break
			}
		}
	}
	return found
}

// Slog returns a sink that logs each event: what went well at level info, everything
// else at level warn. The message is "mcp: " and the kind; attributes that are empty
// are left out. Nil means that nothing is logged.
func Slog(logger *slog.Logger) Sink {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &slogSink{logger.Handler()}
}

type slogSink struct{ handler slog.Handler }

// Write implements Sink. Each record has the time of its event.
func (s *slogSink) Write(ctx context.Context, events []Event) error {
	for i := range events {
		e := &events[i]
		if level := levelOf(e); s.handler.Enabled(ctx, level) {
			r := slog.NewRecord(e.Time, level, "mcp: "+string(e.Kind), 0)
			r.AddAttrs(attrsOf(e)...)
			if err := s.handler.Handle(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func levelOf(e *Event) slog.Level {
	switch e.Outcome {
	case "", OK, Asked, Approved:
		if e.Kind != KindDropped {
			return slog.LevelInfo
		}
	}
	return slog.LevelWarn
}

func attrsOf(e *Event) []slog.Attr {
	attrs := []slog.Attr{slog.String("id", e.ID)}
	text := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	text("parent", e.Parent)
	text("user", e.User)
	text("server", e.Server)
	text("tool", e.Tool)
	text("outcome", string(e.Outcome))
	text("error", e.Error)
	if e.Duration != 0 {
		attrs = append(attrs, slog.Duration("duration", e.Duration))
	}
	if e.ArgumentBytes != 0 {
		attrs = append(attrs, slog.Int64("argumentBytes", e.ArgumentBytes))
	}
	if e.ResultBytes != 0 {
		attrs = append(attrs, slog.Int64("resultBytes", e.ResultBytes))
	}
	text("argumentHash", e.ArgumentHash)
	text("arguments", string(e.Arguments))
	var detail []any
	for _, key := range slices.Sorted(maps.Keys(e.Detail)) {
		detail = append(detail, slog.String(key, e.Detail[key]))
	}
	if detail != nil {
		attrs = append(attrs, slog.Group("detail", detail...))
	}
	return attrs
}
