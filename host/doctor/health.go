package doctor

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A Health is how a server does, in numbers and in a word. It is a value, made when it
// is asked for: nothing is watched for it. [host.Host.Watch] tells when to ask again.
//
// Its own texts have no control characters and none of the entry's secrets, but parts of
// them may be a server's words. In JSON it has of the Status the name (server), title,
// transport, stage, tools, quarantined, and the number of the rejected tools.
type Health struct {
	// Status is where the server stands. The text of its errors may hold anything.
	Status host.Status `json:"-"`
	// Level sums up how the server does.
	Level Level `json:"level"`
	// Action is what would make it healthier. Actions are stable: they may be stored, compared and
	// shown as buttons: "none"; "wait", it is being connected, or tried again by itself; "login",
	// the user has to log in; "allow", its launch waits to be allowed; "accept", tools of it wait
	// to be accepted; "restart", it runs and fails; "enable", it is switched off; "configure", its
	// entry has to be changed; "set_secret", a variable or a credential is missing or no good.
	Action string `json:"action"`
	// Since is when the client that all users share came to be as it is; zero if there
	// is none now.
	Since time.Time `json:"since,omitzero"`
	// Error is what is wrong now, or else why the server does not run as it is configured,
	// see [host.Status].Unapplied; empty if nothing is.
	Error string `json:"error,omitempty"`
	// LastError is the last failure of the server's own, of a call or of a connection,
	// though all may be well since; empty if there was none.
	LastError string `json:"lastError,omitempty"`
	// LastErrorAt is when that was.
	LastErrorAt time.Time `json:"lastErrorAt,omitzero"`
	// RetryAt is when the next attempt to connect, or to run as is configured, begins;
	// zero if none is planned.
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Failures counts the attempts that failed in a row.
	Failures int `json:"failures,omitempty"`
	// Restarts counts the connections after the first one of the present client: how
	// often a local server was started again, or a remote one connected anew.
	Restarts int `json:"restarts"`
	// Calls are the calls of its tools.
	Calls host.Calls `json:"calls"`
	// PID is the id of the server's process, without those that it has started itself, such as
	// a server behind npx; 0 if it has none, or none now.
	PID int `json:"pid,omitempty"`
	// Users are the clients of users, sorted by user.
	Users []UserHealth `json:"users,omitempty"`
}

// MarshalJSON leaves out what is not known.
func (h Health) MarshalJSON() ([]byte, error) {
	type plain Health
	return json.Marshal(struct {
		Server    string     `json:"server"`
		Title     string     `json:"title,omitempty"`
		Transport string     `json:"transport,omitempty"`
		Stage     host.Stage `json:"stage"`
		plain
		Tools       int `json:"tools"`
		Quarantined int `json:"quarantined"`
		Rejected    int `json:"rejected"`
	}{
		h.Status.Name, h.Status.Title, h.Status.Transport, h.Status.Stage, plain(h),
		h.Status.Tools, h.Status.Quarantined, len(h.Status.Rejected),
	})
}

// A UserHealth is how the client of one user does.
type UserHealth struct {
	// User is whose it is.
	User string `json:"user"`
	// Phase is what the client is doing, as [mcp.Phase] prints it.
	Phase string `json:"phase"`
	// Error is why it is not ready; empty if it is.
	Error string `json:"error,omitempty"`
}

// HealthOfAll returns how each server does, in the order of the configuration.
func HealthOfAll(h *host.Host) []Health {
	list := []Health{}
	for _, status := range h.Servers() {
		if i, err := h.Inspect(status.Name); err == nil { // else it has just gone
			list = append(list, healthOf(status, i))
		}
	}
	return list
}

// HealthOf returns how one server does. The error is a [*host.UnknownServerError], or
// [host.ErrClosed].
func HealthOf(h *host.Host, name string) (Health, error) {
	status, i, err := find(h, name)
	if err != nil {
		return Health{}, err
	}
	return healthOf(status, i), nil
}

// find returns what is known of a server.
func find(h *host.Host, name string) (host.Status, *host.Inspection, error) {
	i, err := h.Inspect(name)
	if err != nil {
		return host.Status{}, nil, err
	}
	var known []string
	for _, status := range h.Servers() {
		if status.Name == name {
			return status, i, nil
		}
		known = append(known, status.Name)
	}
	return host.Status{}, nil, &host.UnknownServerError{Name: name, Known: known} // it has just gone
}

// healthOf tells how a server does.
func healthOf(status host.Status, i *host.Inspection) Health {
	h := Health{
		Status:      status,
		RetryAt:     status.State.RetryAt,
		Failures:    status.State.Failures,
		Restarts:    max(status.State.Connections-1, 0),
		Calls:       i.Calls,
		PID:         status.State.PID,
		LastErrorAt: i.LastFailure.At,
	}
	if status.State.Phase != mcp.Idle {
		h.Since = status.State.Since
	}
	h.Error, h.LastError = i.Entry.MaskError(status.Err), cmp.Or(i.LastFailure.Entry, i.Entry).MaskError(i.LastFailure.Err)
	if u := status.Unapplied; u != nil && status.Err == nil {
		h.Error, h.Failures = u.Entry.MaskError(u.Err), u.Failures
		h.RetryAt = u.RetryAt
	}
	for user, client := range i.Users {
		state := client.State()
		h.Users = append(h.Users, UserHealth{user, state.Phase.String(), i.Entry.MaskError(state.Err)})
	}
	slices.SortFunc(h.Users, func(a, b UserHealth) int { return cmp.Compare(a.User, b.User) })
	h.Level, h.Action = judge(&h)
	if status.Stage == host.StageConfigured && i.AwaitsLogin {
		h.Level, h.Action = judgeUndiscovered(status.Err)
	}
	return h
}
