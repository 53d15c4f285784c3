package activity

import (
	"context"
	"log/slog"
	"maps"
	"slices"
)

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
