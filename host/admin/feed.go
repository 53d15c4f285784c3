package admin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/host/internal/eventlog"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
)

const (
	maxRecent    = 1000   // events that a feed keeps
	maxMissed    = 10_000 // events that a listener is told of that were before
	maxWaiting   = 1024   // events that wait for a slow listener
	maxListeners = 1000
	// feedSlack is by how much an event may be older than the one before it.
	feedSlack = time.Minute
)

// A Feed passes on what a log of activity records, to those who listen, and knows what was
// before. It is a sink: give it to [activity.New] after that which keeps the events.
//
//	file, err := activity.OpenFile("activity.jsonl")
//	feed := admin.NewFeed(file.Events)
//	log := activity.New(nil, file, feed)
//
// A listener that comes again gets what it has missed, also from another Feed of the same
// events, as in the next run of the program. All methods are safe for concurrent use.
type Feed struct {
	past func(*activity.Filter) iter.Seq2[activity.Event, error]

	mu        sync.Mutex
	recent    []feedEvent // the newest last
	tries     tries
	listeners map[*listener]bool
	closed    bool
	log       eventlog.Log // which writes to the feed; nil before it has
}

// A feedEvent is an event under an id that is the same wherever it was read.
type feedEvent struct {
	id     string
	event  activity.Event
	data   []byte // the event in JSON
	repeat bool   // see [tries.repeat]
}

// A listener gets what happens.
type listener struct {
	owner  string          // see [access.Caller.Owner]
	events chan feedEvent  // closed if the listener was too slow, or the feed is closed
	known  map[string]bool // what it was told of that may come again
}

// NewFeed returns a feed. Past yields the events that a filter wants, the newest first, as
// [activity.File.Events] does. If it is nil the feed knows its own newest 1000 alone.
func NewFeed(past func(*activity.Filter) iter.Seq2[activity.Event, error]) *Feed {
	return &Feed{past: past, listeners: map[*listener]bool{}, tries: tries{}}
}

func feedEventOf(e activity.Event) (feedEvent, error) {
	data, err := json.Marshal(e)
	if err != nil {
		return feedEvent{}, err
	}
	hash := sha256.Sum256(data)
	return feedEvent{id: strconv.FormatInt(e.Time.UnixNano(), 36) + "-" + hex.EncodeToString(hash[:12]), event: e, data: data}, nil
}

// timeOf returns the time of the event of an id.
func timeOf(id string) (time.Time, bool) {
	text, _, _ := strings.Cut(id, "-")
	n, err := strconv.ParseInt(text, 36, 64)
	return time.Unix(0, n), err == nil
}

// Write implements [activity.Sink]. It waits for no listener: one that is too slow is cut off, and
// comes again.
func (f *Feed) Write(ctx context.Context, events []activity.Event) error {
	made := make([]feedEvent, len(events))
	for i, e := range events {
		one, err := feedEventOf(e)
		if err != nil {
			return err
		}
		made[i] = one
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = cmp.Or(eventlog.Of(ctx), f.log)
	for _, one := range made {
		one.repeat = f.tries.repeat(&one.event)
		f.recent = append(f.recent, one)
		for l := range f.listeners {
			select {
			case l.events <- one:
			default:
				f.drop(l)
			}
		}
	}
	if over := len(f.recent) - maxRecent; over > 0 {
		f.recent = slices.Delete(f.recent, 0, over)
	}
	return nil
}

// record records an event in the log of the feed, which may be nil.
func (f *Feed) record(ctx context.Context, e activity.Event) {
	if f == nil {
		return
	}
	f.mu.Lock()
	log := f.log
	f.mu.Unlock()
	events.NewRecorder(log, func(_, text string) string { return text }).Record(ctx, e)
}

// drop ends a listener. The mutex is held.
func (f *Feed) drop(l *listener) {
	if f.listeners[l] {
		delete(f.listeners, l)
		close(l.events)
	}
}

// Close ends all listeners, and those that come later, so that a server over HTTP can shut down.
func (f *Feed) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for l := range f.listeners {
		f.drop(l)
	}
	return nil
}

// listen returns a listener, and the events after that of an id which came before, in their
// order. Whole is false if these are not known any more. It is nil if there are too many
// listeners, or the owner has a quarter, or the feed is closed. An empty id wants what comes from now on.
func (f *Feed) listen(ctx context.Context, id, owner string) (l *listener, missed []feedEvent, whole bool) {
	f.mu.Lock()
	own := 0
	for l := range f.listeners {
		if l.owner == owner && owner != "" {
			own++
		}
	}
	if f.closed || len(f.listeners) >= maxListeners || own >= maxListeners/4 {
		f.mu.Unlock()
		return nil, nil, false
	}
	l = &listener{owner: owner, events: make(chan feedEvent, maxWaiting)}
	f.listeners[l] = true
	recent := slices.Clone(f.recent)
	f.mu.Unlock()
	if id == "" {
		return l, nil, true
	}
	if i := slices.IndexFunc(recent, func(e feedEvent) bool { return e.id == id }); i >= 0 {
		return l, recent[i+1:], true
	}
	missed, known, whole := f.before(ctx, id)
	if !whole {
		return l, nil, false
	}
	l.known = known
	for _, e := range recent { // as far as the log does not have them
		if !known[e.id] {
			missed = append(missed, e)
		}
	}
	return l, missed, true
}

// before returns the events of the log after that of an id, in their order, and their ids. It reports
// whether it has found the id.
func (f *Feed) before(ctx context.Context, id string) (missed []feedEvent, known map[string]bool, found bool) {
	at, ok := timeOf(id)
	if f.past == nil || !ok {
		return nil, nil, false
	}
	known = map[string]bool{}
	for e, err := range f.past(&activity.Filter{Since: at.Add(-feedSlack)}) {
		if err != nil || ctx.Err() != nil || len(missed) == maxMissed {
			break
		}
		one, err := feedEventOf(e)
		if err != nil {
			continue
		}
		if one.id == id {
			found = true
			break
		}
		one.event = activity.Event{} // there may be many, for many listeners
		missed, known[one.id] = append(missed, one), true
	}
	slices.Reverse(missed)
	return missed, known, found
}

// tries are the errors of the last attempts of servers that fail, by their names.
type tries map[string]string

var digits = regexp.MustCompile(`\d+`)

// repeat reports whether an event says of a server what is known: that it is tried again, and fails as before.
func (t tries) repeat(e *activity.Event) bool {
	to := host.Stage(e.Detail["to"])
	if e.Kind != "state" {
		return false
	}
	if to != host.StageStarting && to != host.StageWaiting {
		delete(t, e.Server)
		return false
	}
	before, failed := t[e.Server]
	if to == host.StageWaiting {
		t[e.Server] = digits.ReplaceAllString(e.Error, "")
	}
	return failed && t[e.Server] == before
}

// leave ends a listener.
func (f *Feed) leave(l *listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(l)
}

// find returns the newest events that a filter wants and that have a text, the newest first; of those before that of an
// id, if it is not empty.
func (f *Feed) find(ctx context.Context, filter *activity.Filter, most int, text, before string) ([]feedEvent, error) {
	found := []feedEvent{}
	if at, ok := timeOf(before); ok && (filter.Until.IsZero() || at.Before(filter.Until)) {
		filter.Until = at.Add(feedSlack)
	}
	wants := func(e feedEvent) bool {
		if before != "" {
			if e.id == before {
				before = ""
			}
			return false
		}
		return hasText(&e.event, text)
	}
	if f.past == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, e := range slices.Backward(f.recent) {
			if len(found) == most {
				break
			}
			if filter.Match(&e.event) && wants(e) {
				found = append(found, e)
			}
		}
		return found, nil
	}
	for e, err := range f.past(filter) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		one, err := feedEventOf(e)
		if err != nil {
			return nil, err
		}
		if !wants(one) {
			continue
		}
		if found = append(found, one); len(found) == most {
			break
		}
	}
	return found, nil
}

// hasText reports whether a text is in what an event says of who did what where, in any case of letters.
func hasText(e *activity.Event, text string) bool {
	all := strings.Join([]string{e.Server, e.Tool, e.Server + "__" + e.Tool, e.Detail["name"], e.User, e.Detail["by"], e.Error}, "\n")
	return strings.Contains(strings.ToLower(all), strings.ToLower(text))
}
