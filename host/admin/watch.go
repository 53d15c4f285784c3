package admin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/host/doctor"
)

const (
	heartbeat   = 15 * time.Second // between signs of life of a stream
	writeWithin = 30 * time.Second // is how long a listener may take for one event
)

func watchRoutes() []*route {
	return []*route{
		on("GET", "/api/v1/health", View, "Say how all servers do", (*request).listHealth),
		on("GET", "/api/v1/health/{server}", View, "Say what is wrong with a server and how to cure it", (*request).diagnose),
		on("GET", "/api/v1/activity", View, "List what happened, the newest first", (*request).listActivity,
			param{"since", "date-time", "not before it"}, param{"until", "date-time", "before it"}, param{"kind", "string", "of this kind; may be repeated"},
			param{"outcome", "string", "with this outcome; may be repeated"}, param{"id", "string", "of this event"}, param{"parent", "string", "as a part of this one"},
			param{"user", "string", "on behalf of this user"}, param{"server", "string", "at this server"}, param{"tool", "string", "of this tool"},
			param{"q", "string", "with this text in the name of the server, the tool or the user, or in the error"},
			param{"before", "string", "before the event of this cursor"}, param{"limit", "integer", "at most so many, 100 by default and 1000 at most"}).of("activity"),
		on("GET", "/api/v1/openapi.json", View, "Show this document", (*request).document),
		(&route{method: "GET", path: "/api/v1/events", role: View, summary: "Tell what happens, as server-sent events; resumes after Last-Event-ID", stream: (*request).streamEvents,
			params: []param{
				{"after", "string", "the cursor of an event; what came after it is told first"},
				{"fold", "boolean", "whether to leave out that a server which fails is tried again, as long as it fails as before"},
			}}).of("activity"),
	}
}

// A pastEvent is one of the log, with where it stands in the stream of events.
type pastEvent struct {
	Cursor string          `json:"cursor"`
	Event  json.RawMessage `json:"event"`
}

func (q *request) listHealth() ([]doctor.Health, error) {
	return append([]doctor.Health{}, doctor.HealthOfAll(q.host)...), nil
}

func (q *request) diagnose() (doctor.Diagnosis, error) {
	d, err := doctor.Diagnose(q.forUser(), q.host, q.PathValue("server"))
	if err != nil {
		return doctor.Diagnosis{}, err
	}
	if q.need(Operate) != nil {
		d.LoginURL = ""
	}
	plainHints(d.Hints)
	return *d, nil
}

// plainHints puts words for people in the place of those for programs.
func plainHints(hints []doctor.Hint) {
	plain := map[string]string{"launch_not_allowed": cureOf("allow"), "login_required": cureOf("login")}
	for i, hint := range hints {
		hints[i].Text = cmp.Or(plain[hint.Code], hint.Text)
	}
}

// listActivity returns the events of the past that the query of the request asks for, the newest first.
func (q *request) listActivity() ([]pastEvent, error) {
	filter, most, err := filterOf(q.URL.Query())
	if err != nil {
		return nil, err
	}
	events, err := q.opts.Feed.find(q.Context(), filter, most, q.URL.Query().Get("q"), q.URL.Query().Get("before"))
	if err != nil {
		return nil, err
	}
	shown := make([]pastEvent, len(events))
	for i, e := range events {
		shown[i] = pastEvent{e.id, e.data}
	}
	return shown, nil
}

// filterOf reads a filter, and how many events are wanted at most.
func filterOf(v url.Values) (*activity.Filter, int, error) {
	f := &activity.Filter{Kinds: v["kind"], Outcomes: v["outcome"], ID: v.Get("id"), Parent: v.Get("parent"), User: v.Get("user"), Server: v.Get("server"), Tool: v.Get("tool")}
	bad := func(name, want string) (*activity.Filter, int, error) {
		return nil, 0, &failure{status: http.StatusBadRequest, code: "value_invalid", detail: name + " has to be " + want}
	}
	for name, to := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		if text := v.Get(name); text != "" {
			at, err := time.Parse(time.RFC3339Nano, text)
			if err != nil {
				return bad(name, "a time such as 2026-04-01T10:30:00Z")
			}
			*to = at
		}
	}
	most := 100
	if text := v.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxShown {
			return bad("limit", "a number from 1 to "+strconv.Itoa(maxShown))
		}
		most = n
	}
	return f, most, nil
}

// streamEvents tells the events until the listener goes, the feed ends, or the caller may not listen
// any more.
func (q *request) streamEvents(w http.ResponseWriter) error {
	after := cmp.Or(q.Header.Get("Last-Event-ID"), q.URL.Query().Get("after"))
	l, missed, whole := q.opts.Feed.listen(q.Context(), after, q.caller.Owner())
	if l == nil {
		return &failure{status: http.StatusServiceUnavailable, code: "busy", detail: "there are too many listeners, or the program ends"}
	}
	defer q.opts.Feed.leave(l)
	send, flush := eventStream(w)
	fold := q.URL.Query().Get("fold") == "true"
	tell := func(e feedEvent) bool {
		return fold && e.repeat || send("id: %s\ndata: %s\n\n", e.id, e.data)
	}
	first := ": open\n\n"
	if !whole {
		first = "event: reset\ndata: {}\n\n" // the listener asks again for what there is
	}
	ok := send("%s", first)
	for _, e := range missed {
		ok = ok && tell(e)
	}
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for ok && flush() {
		select {
		case <-q.Context().Done():
			return nil
		case e, more := <-l.events:
			if !more {
				return nil
			}
			ok = l.known[e.id] || tell(e)
		case <-tick.C:
			ok = q.stillMay() && send(": alive\n\n")
		}
	}
	return nil
}

// eventStream begins an answer of server-sent events, and returns what writes to it and what sends that off. Both report whether
// they could.
func eventStream(w http.ResponseWriter) (send func(format string, values ...any) bool, flush func() bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	return func(format string, values ...any) bool {
		_ = control.SetWriteDeadline(time.Now().Add(writeWithin)) // not all writers have one
		_, err := fmt.Fprintf(w, format, values...)
		return err == nil
	}, func() bool { return control.Flush() == nil }
}

// stillMay reports whether the caller of a stream may still view: a key may have been revoked.
func (q *request) stillMay() bool {
	caller, err := q.opts.Authenticate(q.Request)
	if err != nil || caller == nil || caller.User != q.caller.User || caller.Credential != q.caller.Credential {
		return false
	}
	roles := q.opts.Roles(caller)
	return slices.Contains(roles, View) || slices.Contains(roles, Operate)
}
