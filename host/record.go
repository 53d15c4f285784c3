package host

import (
	"context"
	"errors"
	"time"

	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

// record tells the log of an event of the host's own, if there is one. It never
// waits, so that it may be called anywhere but under a lock that calls need.
func (h *Host) record(e activity.Event) { h.recordFor(context.Background(), e) }

// recordFor is record for what the caller of ctx has done: his are the user and the
// call id.
func (h *Host) recordFor(ctx context.Context, e activity.Event) {
	if h.opts.Activity == nil {
		return
	}
	e.Error = h.masked(e.Server, e.Error)
	h.opts.Activity.Record(ctx, e)
}

// recordCalls has the log told of all calls of the registry, until detach is called.
func (h *Host) recordCalls() (detach func()) {
	log := h.opts.Activity
	if log == nil {
		return func() {}
	}
	return h.registry.Observe(func(ctx context.Context, o *registry.Observation) {
		recordCall(ctx, o, func(ctx context.Context, e activity.Event) {
			e.Error = h.masked(e.Server, e.Error)
			log.Record(ctx, e)
		})
	})
}

// traceCalls has the tracer of the clients record the calls of tools, if it can.
func (h *Host) traceCalls() (stop func()) {
	t, ok := h.opts.Client.Tracer.(interface {
		Registry(*registry.Registry) (stop func())
	})
	if !ok {
		return func() {}
	}
	return t.Registry(h.registry)
}

// masked returns the text of an error without the secrets of a server's entry, which
// have no form by which the log could tell them.
func (h *Host) masked(server, text string) string {
	if server == "" || text == "" {
		return text
	}
	if sl, err := h.slot(server); err == nil {
		if s := sl.now(); s != nil {
			return s.entry.MaskError(errors.New(text))
		}
	}
	return text
}

// eventOf begins an event about a server; err says how it went.
func eventOf(kind activity.Kind, entry *config.Server, began time.Time, err error) activity.Event {
	e := activity.Event{
		Kind:   kind,
		Server: entry.Name,
		Detail: map[string]string{activity.DetailSource: entry.Source.String()},
	}
	if !began.IsZero() {
		e.Duration = time.Since(began)
	}
	e = withOutcome(e, err)
	e.Error = entry.MaskError(err) // it may be no server of the host, or not any more
	return e
}

// stateEvent says that a server has come from one stage to another.
func stateEvent(server string, from, to Stage, err error) activity.Event {
	return withOutcome(activity.Event{
		Kind:   activity.KindState,
		Server: server,
		Detail: map[string]string{activity.DetailFrom: string(from), activity.DetailTo: string(to)},
	}, err)
}

// loginEvent says that a user has logged in or out, or is to.
func loginEvent(kind activity.Kind, key session.Key, err error) activity.Event {
	return withOutcome(activity.Event{Kind: kind, User: key.User, Server: key.Server}, err)
}

// configEvent says what somebody did to the entry of a server, or to all of them if
// server is empty.
func configEvent(change, server string, err error) activity.Event {
	return withOutcome(activity.Event{
		Kind:   activity.KindConfig,
		Server: server,
		Detail: map[string]string{activity.DetailChange: change},
	}, err)
}

// consentEvent says how somebody decided whether a server may be started.
func consentEvent(by, server, fingerprint string, approved bool, err error) activity.Event {
	e := activity.Event{
		Kind:    activity.KindConsent,
		User:    by,
		Server:  server,
		Outcome: activity.Refused,
		Detail:  map[string]string{"fingerprint": fingerprint},
	}
	if approved {
		e.Outcome = activity.Approved
	}
	if err != nil {
		e = withOutcome(e, err)
	}
	return e
}

// withOutcome puts an error into an event; nil is success.
func withOutcome(e activity.Event, err error) activity.Event {
	e.Outcome = recordedOutcome(err)
	if e.Outcome == activity.Unknown || e.Outcome == activity.NotSent { // which calls are
		e.Outcome = activity.Failed
	}
	if err != nil {
		e.Error = err.Error()
	}
	return e
}
