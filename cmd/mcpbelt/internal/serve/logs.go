package serve

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/activity"
)

func logsCommand(b *belt.Belt) *cobra.Command {
	var limit int
	var follow bool
	cmd := &cobra.Command{
		Use: "logs",
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &logReader{path: logPath(b)}
			if len(args) > 0 {
				r.filter.Server = args[0]
			}
			if follow && r.path == "" {
				return &cli.Error{Exit: cli.Failed, Message: "there is no state folder, and no log", Cure: "set HOME or XDG_STATE_HOME"}
			}
			events, err := r.read(cmd.Context(), limit)
			if err != nil {
				return err
			}
			if follow {
				return followLog(cmd.Context(), b, r, events)
			}
			t := &cli.Table{Headings: []string{"TIME", "KIND", "SERVER", "TOOL", "OUTCOME", "TOOK", "ERROR"}}
			for i := range events {
				t.Add(cellsOf(&events[i])...)
			}
			return b.Out.Found(t, map[string]any{"events": events})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "show at most this `number` of events")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with those that come")
	return cmd
}

func cellsOf(e *activity.Event) []string {
	return []string{e.Time.Local().Format(time.DateTime), e.Kind, e.Server, e.Tool, e.Outcome, e.Duration.Round(time.Millisecond).String(), e.Error}
}

// followLog shows events, and then those that come, until the context ends.
func followLog(ctx context.Context, b *belt.Belt, r *logReader, events []activity.Event) error {
	const every = 500 * time.Millisecond
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		for i := range events {
			if b.Out.AsJSON {
				if err := b.Out.JSONLine(&events[i]); err != nil {
					return err
				}
				continue
			}
			cells := slices.DeleteFunc(cellsOf(&events[i]), func(text string) bool { return text == "" })
			b.Out.Printf("%s\n", strings.Join(cells, "  "))
		}
		if err := b.Out.Err(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		var err error
		if events, err = r.read(ctx, -1); err != nil {
			return err
		}
	}
}

// A logReader reads the events in a log file, and the files that it was renamed to when it was full.
type logReader struct {
	path   string // empty: there is none
	filter activity.Filter
	last   *activity.Event // the newest that was read, wanted or not; nil: none was
}

// read returns the events that were written since it was called last, the oldest first: at most
// a number of them, the newest; below 0 any.
func (r *logReader) read(ctx context.Context, most int) ([]activity.Event, error) {
	events := []activity.Event{}
	if r.path == "" {
		return events, nil
	}
	var newest *activity.Event
	for e, err := range activity.Events(r.path, nil) {
		if err != nil {
			return nil, err
		}
		if newest == nil {
			newest = &e
		}
		if len(events) == most || r.knows(&e) || ctx.Err() != nil {
			break
		}
		if r.filter.Match(&e) {
			events = append(events, e)
		}
	}
	if newest != nil {
		r.last = newest
	}
	slices.Reverse(events)
	return events, nil
}

// knows reports whether an event is the newest that was read before, or so much older that the
// file with that one must be gone. Events of several processes are not quite in order.
func (r *logReader) knows(e *activity.Event) bool {
	const disorder = time.Minute
	return r.last != nil && (e.ID == r.last.ID && e.Kind == r.last.Kind && e.Time.Equal(r.last.Time) || e.Time.Before(r.last.Time.Add(-disorder)))
}
