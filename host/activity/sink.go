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

// A Memory is a [Sink] that keeps the newest events, for those who look at a running
// program. It is safe for concurrent use.
type Memory struct {
	most int

	mu     sync.Mutex
	events []Event // the newest last
}

// NewMemory returns a Memory of at most most events; 0 or less means
// 1000. Each takes about 1 KB, and at most 40 KB.
func NewMemory(most int) *Memory {
	if most <= 0 {
		most = 1000
	}
	return &Memory{most: most}
}

// Write implements [Sink].
func (m *Memory) Write(_ context.Context, events []Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, events...)
	m.events = m.events[max(0, len(m.events)-m.most):]
	return nil
}

// Recent returns the newest events that filter wants, which may be nil, the newest
// first and at most limit; 0 or less means all that there are. Call [Log.Flush]
// before to have in them what was just recorded.
func (m *Memory) Recent(filter *Filter, limit int) []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Event
	for _, e := range slices.Backward(m.events) {
		if filter.Match(&e) {
			if found = append(found, e); len(found) == limit {
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
		return &slogSink{slog.DiscardHandler}
	}
	return &slogSink{logger.Handler()}
}

type slogSink struct{ handler slog.Handler }

// Write implements Sink. Each record has the time of its event.
func (s *slogSink) Write(ctx context.Context, events []Event) error {
	for i := range events {
		e := &events[i]
		level := slog.LevelWarn
		if slices.Contains([]string{"", "ok", "asked", "approved"}, e.Outcome) && e.Kind != "dropped" {
			level = slog.LevelInfo
		}
		if !s.handler.Enabled(ctx, level) {
			continue
		}
		r := slog.NewRecord(e.Time, level, "mcp: "+e.Kind, 0)
		for _, a := range []slog.Attr{
			slog.String("id", e.ID), slog.String("parent", e.Parent), slog.String("user", e.User), slog.String("server", e.Server),
			slog.String("tool", e.Tool), slog.String("outcome", e.Outcome), slog.String("error", e.Error), slog.Duration("duration", e.Duration),
			slog.Int64("argumentBytes", e.ArgumentBytes), slog.Int64("resultBytes", e.ResultBytes), slog.String("argumentHash", e.ArgumentHash),
			slog.String("arguments", string(e.Arguments)),
		} {
			if v := a.Value; !v.Equal(slog.StringValue("")) && !v.Equal(slog.Int64Value(0)) && !v.Equal(slog.DurationValue(0)) {
				r.AddAttrs(a)
			}
		}
		var detail []any
		for _, key := range slices.Sorted(maps.Keys(e.Detail)) {
			detail = append(detail, slog.String(key, e.Detail[key]))
		}
		r.AddAttrs(slog.Group("detail", detail...)) // handlers leave out an empty one
		if err := s.handler.Handle(ctx, r); err != nil {
			return err
		}
	}
	return nil
}
