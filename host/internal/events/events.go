// Package events makes the events of an activity log of what a host, its servers and their
// callers do.
package events

import (
	"cmp"
	"context"
	"maps"
	"time"

	"github.com/mcpbelt/mcpbelt/host/activity/event"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/eventlog"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/session"
)

// A Recorder records events in a log, if there is one.
type Recorder struct {
	log eventlog.Log // may be nil

	// Mask returns the text of an error without the secrets of a server's entry, which have no form by which
	// the log could tell them.
	Mask func(server, text string) string
}

// NewRecorder returns a recorder for a log, which may be nil.
func NewRecorder(log eventlog.Log, mask func(server, text string) string) *Recorder {
	return &Recorder{log, mask}
}

type notesKey struct{}

// Note returns a context under which events get a detail that they do not have, such as "by", which is left
// out where it is their user.
func Note(ctx context.Context, detail, text string) context.Context {
	notes := map[string]string{detail: text}
	if before, ok := ctx.Value(notesKey{}).(map[string]string); ok {
		maps.Copy(notes, before)
	}
	return context.WithValue(ctx, notesKey{}, notes)
}

// noted returns the details of an event with those of [Note].
func noted(ctx context.Context, e event.Event) map[string]string {
	notes, ok := ctx.Value(notesKey{}).(map[string]string)
	if !ok {
		return e.Detail
	}
	notes = maps.Clone(notes)
	user, _ := session.UserOf(ctx)
	if by := notes["by"]; by == cmp.Or(e.User, user) {
		delete(notes, "by")
	}
	maps.DeleteFunc(notes, func(_, text string) bool { return text == "" })
	maps.Copy(notes, e.Detail)
	return notes
}

// Record records an event; the caller of ctx has done it: the user and the call ID are
// theirs. It never waits, so that it may be called anywhere but under a lock that calls
// need.
func (r *Recorder) Record(ctx context.Context, e event.Event) {
	if r.log == nil {
		return
	}
	if e.Server != "" && e.Error != "" {
		e.Error = r.Mask(e.Server, e.Error)
	}
	e.Detail = noted(ctx, e)
	r.log.Record(ctx, e)
}

// Calls records all calls of a registry until detach is called.
func (r *Recorder) Calls(reg *registry.Registry) (detach func()) {
	if r.log == nil {
		return func() {}
	}
	return reg.Observe(r.call)
}

// OfServer returns an event about a server that began at a time; err says how it went.
func OfServer(kind string, entry *config.Server, began time.Time, err error) event.Event {
	e := event.Event{
		Kind:   kind,
		Server: entry.Name,
		Detail: map[string]string{"source": entry.Source.String()},
	}
	if !began.IsZero() {
		e.Duration = time.Since(began)
	}
	e = withOutcome(e, err)
	e.Error = entry.MaskError(err) // it may be no server of the host, or not any more
	return e
}

// OfStage returns the event that a server has come from one stage to another.
func OfStage(server, from, to string, err error) event.Event {
	return withOutcome(event.Event{
		Kind:   "state",
		Server: server,
		Detail: map[string]string{"from": from, "to": to},
	}, err)
}

// OfLogin returns the event that a user has logged in or out, or is to.
func OfLogin(kind string, key session.Key, err error) event.Event {
	return withOutcome(event.Event{Kind: kind, User: key.User, Server: key.Server}, err)
}

// OfDecision returns the event that a person has accepted or rejected what is new or has changed at a server.
func OfDecision(c *ledger.Change, accepted bool, err error) event.Event {
	e := event.Event{Kind: "accept", Server: c.Server, Tool: c.Tool, Detail: map[string]string{"change": string(c.Kind)}}
	return withDecision(e, accepted, err)
}

// OfConfig returns the event that the entry of a server was changed, or all entries if
// server is empty.
func OfConfig(change, server string, err error) event.Event {
	return withOutcome(event.Event{
		Kind:   "config",
		Server: server,
		Detail: map[string]string{"change": change},
	}, err)
}

// OfConsent returns the event that a user has decided whether a server may be started.
func OfConsent(by, server, fingerprint string, approved bool, err error) event.Event {
	e := event.Event{Kind: "consent", User: by, Server: server, Detail: map[string]string{"fingerprint": fingerprint}}
	return withDecision(e, approved, err)
}

// withDecision returns an event with the outcome of a decision, or of the attempt to keep it.
func withDecision(e event.Event, yes bool, err error) event.Event {
	e = withOutcome(e, err)
	if err == nil {
		e.Outcome = map[bool]string{true: "approved", false: "refused"}[yes]
	}
	return e
}

// withOutcome returns an event with the outcome that an error means; nil is success.
func withOutcome(e event.Event, err error) event.Event {
	e.Outcome = OutcomeOf(err)
	if e.Outcome == "unknown" || e.Outcome == "not_sent" { // which calls are
		e.Outcome = "error"
	}
	if err != nil {
		e.Error = err.Error()
	}
	return e
}
