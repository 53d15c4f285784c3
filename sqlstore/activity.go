package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/activity"
)

const (
	// rowsPerInsert bounds the parameters of one statement: SQLite takes 32,766,
	// PostgreSQL 65,535, older ones fewer.
	rowsPerInsert = 50
	pageOfEvents  = 200
	// rowsPerDelete bounds how long others wait for SQLite while much is deleted.
	rowsPerDelete = 1000
	// pruneEvery is how often old events are looked for while new ones are written.
	pruneEvery = 10 * time.Minute
)

// ActivityOptions say which events stay. The zero value, and nil, mean all. Old ones
// are looked for at the first Write and then every ten minutes in which something is
// written; it is tried again after an error, which is not reported.
type ActivityOptions struct {
	// KeepAge is how old events become. Default: any age.
	KeepAge time.Duration
	// KeepEvents is how many stay. Default: all.
	KeepEvents int64
}

// An Activity is an [activity.Sink] that keeps events in the table "activity", and
// reads them. It is safe for concurrent use.
type Activity struct {
	db   *Database
	opts ActivityOptions

	mu     sync.Mutex
	pruned time.Time // when old events were looked for last
}

var _ activity.Sink = (*Activity)(nil)

// Activity returns the sink for events.
func (d *Database) Activity(opts *ActivityOptions) *Activity {
	return &Activity{db: d, opts: *cmp.Or(opts, new(ActivityOptions))}
}

const activityColumns = `at_ns, event_id, parent, kind, user_name, server, tool, outcome, error, ` +
	`duration_ns, argument_bytes, result_bytes, argument_hash, arguments, detail`

// Write implements [activity.Sink]: all events are written, or none. The character
// NUL, which PostgreSQL cannot keep, becomes U+FFFD.
func (a *Activity) Write(ctx context.Context, events []activity.Event) error {
	if len(events) == 0 {
		return nil
	}
	if err := a.db.retry(ctx, func() error { return a.insert(ctx, events) }); err != nil {
		return fail(ctx, "write events", err)
	}
	a.prune(ctx)
	return nil
}

func (a *Activity) insert(ctx context.Context, events []activity.Event) error {
	tx, err := a.db.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	for len(events) > 0 {
		n := min(len(events), rowsPerInsert)
		var args []any
		for i := range events[:n] {
			values, err := activityValues(&events[i])
			if err != nil {
				return err
			}
			args = append(args, values...)
		}
		query := `INSERT INTO {p}activity (` + activityColumns + `) VALUES ` + strings.TrimSuffix(strings.Repeat(marks(len(args)/n)+", ", n), ", ")
		if _, err := tx.ExecContext(ctx, a.db.sql(query), args...); err != nil {
			return err
		}
		events = events[n:]
	}
	return tx.Commit()
}

// activityValues returns the columns of an event.
func activityValues(e *activity.Event) ([]any, error) {
	detail := ""
	if len(e.Detail) > 0 {
		data, err := json.Marshal(e.Detail)
		if err != nil {
			return nil, err
		}
		detail = string(data)
	}
	values := []any{
		nanoseconds(e.Time), e.ID, e.Parent, e.Kind, e.User, e.Server, e.Tool, e.Outcome, e.Error,
		int64(e.Duration), e.ArgumentBytes, e.ResultBytes, e.ArgumentHash, string(e.Arguments), detail,
	}
	for i, value := range values {
		if text, ok := value.(string); ok {
			values[i] = column(text)
		}
	}
	return values, nil
}

// column returns a text as PostgreSQL can keep it: UTF-8 without NUL.
func column(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
}

// nanoseconds returns a time as it is kept, in nanoseconds since 1970. Those that do
// not fit, before 1678 and after 2261, are as early and as late as can be.
func nanoseconds(t time.Time) int64 {
	switch year := t.UTC().Year(); {
	case year < 1678:
		return math.MinInt64
	case year > 2261:
		return math.MaxInt64
	}
	return t.UnixNano()
}

// prune deletes the events that do not stay, if that was not done of late. The events of the caller are written
// already: what fails now is done the next time.
func (a *Activity) prune(ctx context.Context) {
	a.mu.Lock()
	due := time.Since(a.pruned) >= pruneEvery
	if due {
		a.pruned = time.Now()
	}
	a.mu.Unlock()
	if due && a.opts.KeepAge > 0 {
		_ = a.deleteWhere(ctx, `at_ns < ?`, time.Now().Add(-a.opts.KeepAge).UnixNano())
	}
	if due && a.opts.KeepEvents > 0 {
		_ = a.deleteWhere(ctx, `seq <= (SELECT seq FROM {p}activity ORDER BY seq DESC LIMIT 1 OFFSET ?)`, a.opts.KeepEvents)
	}
}

// deleteWhere deletes in portions: others can write meanwhile.
func (a *Activity) deleteWhere(ctx context.Context, condition string, arg any) error {
	for {
		n, err := a.db.exec(ctx, `DELETE FROM {p}activity WHERE seq IN (SELECT seq FROM {p}activity WHERE `+condition+` ORDER BY seq LIMIT ?)`, arg, rowsPerDelete)
		if err != nil || n < rowsPerDelete {
			return err
		}
	}
}

// Events yields the events that filter wants, which may be nil: those written last
// come first. It ends with the first error. It holds no connection while the loop
// runs; events that are written meanwhile are not yielded.
func (a *Activity) Events(ctx context.Context, filter *activity.Filter) iter.Seq2[activity.Event, error] {
	return func(yield func(activity.Event, error) bool) {
		where, args := activityCondition(filter)
		before := int64(math.MaxInt64) // the seq of the last event that was yielded
		for {
			var page []activity.Event
			query := `SELECT seq, ` + activityColumns + ` FROM {p}activity WHERE ` + where + `seq < ? ORDER BY seq DESC LIMIT ?`
			err := a.db.rows(ctx, query, slices.Concat(args, []any{before, pageOfEvents}), func(rows *sql.Rows) error {
				e, seq, err := scanEvent(rows)
				page, before = append(page, e), seq
				return err
			})
			if err != nil {
				yield(activity.Event{}, fail(ctx, "read events", err))
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if len(page) < pageOfEvents {
				return
			}
		}
	}
}

// activityCondition returns what a filter wants as conditions that all have to hold, each with AND behind it.
func activityCondition(f *activity.Filter) (where string, args []any) {
	if f == nil {
		return "", nil
	}
	add := func(condition string, values ...any) {
		where, args = where+condition+" AND ", append(args, values...)
	}
	if !f.Since.IsZero() {
		add("at_ns >= ?", nanoseconds(f.Since))
	}
	if !f.Until.IsZero() {
		add("at_ns < ?", nanoseconds(f.Until))
	}
	for _, equal := range []struct{ column, value string }{
		{"event_id", f.ID}, {"parent", f.Parent}, {"user_name", f.User}, {"server", f.Server}, {"tool", f.Tool},
	} {
		if equal.value != "" {
			add(equal.column+" = ?", column(equal.value))
		}
	}
	if len(f.Kinds) > 0 {
		add("kind IN "+marks(len(f.Kinds)), texts(f.Kinds)...)
	}
	if len(f.Outcomes) > 0 {
		add("outcome IN "+marks(len(f.Outcomes)), texts(f.Outcomes)...)
	}
	return where, args
}

// marks returns n placeholders in brackets.
func marks(n int) string { return "(" + strings.TrimSuffix(strings.Repeat("?, ", n), ", ") + ")" }

func texts[T ~string](values []T) (args []any) {
	for _, v := range values {
		args = append(args, column(string(v)))
	}
	return args
}

func scanEvent(rows *sql.Rows) (e activity.Event, seq int64, err error) {
	var at, duration int64
	var arguments, detail string
	err = rows.Scan(&seq, &at, &e.ID, &e.Parent, &e.Kind, &e.User, &e.Server, &e.Tool, &e.Outcome, &e.Error,
		&duration, &e.ArgumentBytes, &e.ResultBytes, &e.ArgumentHash, &arguments, &detail)
	if err != nil {
		return e, seq, err
	}
	e.Time, e.Duration = time.Unix(0, at).UTC(), time.Duration(duration)
	if arguments != "" {
		e.Arguments = json.RawMessage(arguments)
	}
	if detail != "" {
		err = json.Unmarshal([]byte(detail), &e.Detail)
	}
	return e, seq, err
}
