package host

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A Health is how a server does, in numbers and in a word. It is a value, made when it
// is asked for: nothing is watched for it. [Host.Watch] tells when to ask again.
//
// Its texts have no control characters and none of the entry's secrets, but parts of
// them may be a server's words.
type Health struct {
	// Server is the server's name.
	Server string `json:"server"`
	// Title is the name as written in the config file.
	Title string `json:"title,omitempty"`
	// Transport is the kind of transport: stdio, http, sse, auto or unix.
	Transport string `json:"transport,omitempty"`
	// Stage is how far the server is from being of use.
	Stage Stage `json:"stage"`
	// Level sums it up.
	Level Level `json:"level"`
	// Action is what would make it better.
	Action Action `json:"action"`
	// Since is when the client that all users share came to be as it is; zero if there
	// is none now.
	Since time.Time `json:"since,omitzero"`
	// Error is what is wrong now, or else why the server does not run as it is configured,
	// see [Status.Unapplied]; empty if nothing is.
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
	// Tools is the number of tools that are listed.
	Tools int `json:"tools"`
	// Quarantined is the number of tools that wait for approval.
	Quarantined int `json:"quarantined"`
	// Rejected is the number of tools that are not let in.
	Rejected int `json:"rejected"`
	// Calls are the calls of its tools.
	Calls Calls `json:"calls"`
	// Process is the server's process; nil if it has none, or none now.
	Process *Process `json:"process,omitempty"`
	// Users are the clients of users, sorted by user.
	Users []UserHealth `json:"users,omitempty"`
}

// A UserHealth is how the client of one user does.
type UserHealth struct {
	// User is whose it is.
	User string `json:"user"`
	// Phase is what the client is doing, as [mcp.Phase] prints it.
	Phase string `json:"phase"`
	// Since is when that began.
	Since time.Time `json:"since,omitzero"`
	// Error is why it is not ready; empty if it is.
	Error string `json:"error,omitempty"`
	// RetryAt is when the next attempt to connect begins; zero if none is planned.
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Restarts counts the connections after the first one.
	Restarts int `json:"restarts"`
	// Process is the process that serves the user; nil if there is none.
	Process *Process `json:"process,omitempty"`
}

// A Process is the process of a local server, together with all processes on this
// machine that it has started. What runs in a container, or on another machine, is not
// among them. What the system does not tell is zero, and is not in the JSON: memory,
// processor time and start are known on Linux.
type Process struct {
	// PID is the id of the process that was started.
	PID int
	// Processes is how many there are, that one included.
	Processes int
	// Memory is what they take, in bytes: their own, and their part of what they share
	// with others. See Shared.
	Memory int64
	// Shared says that Memory counts what is shared in full, several times over,
	// because the system does not tell more of a process.
	Shared bool
	// CPU is the processor time that they have used, with those that have ended.
	CPU time.Duration
	// Started is when the process was started, to a second.
	Started time.Time
}

// MarshalJSON writes the processor time in seconds.
func (p Process) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		PID       int       `json:"pid"`
		Processes int       `json:"processes,omitempty"`
		Memory    int64     `json:"memoryBytes,omitempty"`
		Shared    bool      `json:"memoryIsShared,omitempty"`
		CPU       float64   `json:"cpuSeconds,omitempty"`
		Started   time.Time `json:"startedAt,omitzero"`
	}{p.PID, p.Processes, p.Memory, p.Shared, p.CPU.Seconds(), p.Started})
}

// Health returns how each server does, in the order of the configuration. On Linux it
// reads what the system says of the servers' processes, which takes a few milliseconds.
func (h *Host) Health() []Health {
	list := h.health("")
	if list == nil {
		list = []Health{}
	}
	return list
}

// HealthOf returns how one server does. The error is an [*UnknownServerError], or
// [ErrClosed].
func (h *Host) HealthOf(name string) (Health, error) {
	if _, err := h.slot(name); err != nil {
		return Health{}, err
	}
	for _, health := range h.health(name) {
		return health, nil
	}
	return Health{}, &UnknownServerError{name, h.names()} // it has just gone
}

// health returns how the servers do, or the one of a name.
func (h *Host) health(name string) []Health {
	at := map[string]*server{}
	for _, s := range h.standing() {
		at[s.entry.Name] = s
	}
	var list []Health
	var processes processTable
	for _, status := range h.Servers() {
		s := at[status.Name]
		if s == nil || name != "" && status.Name != name {
			continue
		}
		list = append(list, s.health(&status, &processes))
	}
	return list
}

// health tells how a server of a status does.
func (s *server) health(status *Status, processes *processTable) Health {
	h := Health{
		Server:      status.Name,
		Title:       status.Title,
		Transport:   status.Transport,
		Stage:       status.Stage,
		RetryAt:     status.State.RetryAt,
		Failures:    status.State.Failures,
		Restarts:    max(status.State.Connections-1, 0),
		Tools:       status.Tools,
		Quarantined: status.Quarantined,
		Rejected:    len(status.Rejected),
		Calls:       s.slot.meter.calls(),
		Process:     processes.of(status.State.PID),
	}
	if status.State.Phase != mcp.Idle {
		h.Since = status.State.Since
	}
	at, failing, last := s.slot.meter.lastFailure()
	links := s.host.pool.at(s)
	shown := words{entry: s.entry}
	h.Error, h.LastError, h.LastErrorAt = shown.of(status.Err), shown.of(last), at
	if failing != nil && failing != s.entry {
		h.LastError = (&words{entry: failing}).of(last)
	}
	if u := status.Unapplied; u != nil && status.Err == nil {
		h.Error, h.Failures = (&words{entry: u.entry}).of(u.Err), u.Failures
		h.RetryAt = u.RetryAt
	}
	for _, l := range links {
		state := l.client.State()
		h.Users = append(h.Users, UserHealth{
			User:     l.key.User,
			Phase:    state.Phase.String(),
			Since:    state.Since,
			Error:    shown.of(state.Err),
			RetryAt:  state.RetryAt,
			Restarts: max(state.Connections-1, 0),
			Process:  processes.of(state.PID),
		})
	}
	sortUsers(h.Users)
	h.Level, h.Action = judge(status, &h)
	if h.Stage == StageConfigured && s.discovery.wanted() {
		h.Level, h.Action = judgeUndiscovered(status.Err)
	}
	return h
}

// words makes errors fit to be shown, with a cleaner that is made when it is needed.
type words struct {
	entry *config.Server
	clean *cleaner
}

func (w *words) of(err error) string {
	if err == nil {
		return ""
	}
	if w.clean == nil {
		w.clean = newCleaner(w.entry)
	}
	return w.clean.text(err.Error())
}

// A Level sums up how a server does.
type Level string

// The levels.
const (
	// LevelHealthy: the server does what it is configured for. One that is switched off
	// does, too, and so does one that is started when it is needed.
	LevelHealthy Level = "healthy"
	// LevelDegraded: it works, but not as it should, or not yet.
	LevelDegraded Level = "degraded"
	// LevelUnhealthy: it is of no use now.
	LevelUnhealthy Level = "unhealthy"
)

// An Action is what would make a server healthier. Actions are stable: they may be
// stored, compared and shown as buttons.
type Action string

// The actions.
const (
	ActionNone      Action = "none"       // nothing is to be done
	ActionWait      Action = "wait"       // it is being connected, or tried again by itself
	ActionLogin     Action = "login"      // the user has to log in
	ActionApprove   Action = "approve"    // the start of the server, or tools of it, wait for approval
	ActionRestart   Action = "restart"    // it runs and fails: start it anew
	ActionEnable    Action = "enable"     // it is switched off
	ActionConfigure Action = "configure"  // its entry has to be changed
	ActionSetSecret Action = "set_secret" // a variable or a credential is missing or no good
)

const (
	// judgedCalls is how many recent calls there must be to judge a server by them.
	judgedCalls = 5
	// failingRate is the error rate from which a server is of no use, and shakyRate the
	// one from which it is degraded.
	failingRate = 0.5
	shakyRate   = 0.1
)

// judge sums up how a server does, and says what would make it better.
func judge(status *Status, h *Health) (Level, Action) {
	switch h.Stage {
	case StageDisabled:
		return LevelHealthy, ActionEnable
	case StageInvalid:
		return LevelUnhealthy, cureOfEntry(status.Err)
	case StageUnapproved:
		return LevelUnhealthy, ActionApprove
	case StageLogin:
		return LevelUnhealthy, ActionLogin
	case StageWaiting:
		return LevelUnhealthy, cureOfConnection(status.Err)
	case StageQuarantined:
		return LevelUnhealthy, ActionApprove
	case StageStarting:
		return LevelDegraded, ActionWait
	}
	if level, action := judgeCalls(&h.Calls); level != LevelHealthy {
		return level, action
	}
	switch u := status.Unapplied; {
	case u != nil && u.entry.Err != nil:
		return LevelDegraded, cureOfEntry(u.Err)
	case u != nil:
		return LevelDegraded, cureOfConnection(u.Err)
	case h.Quarantined > 0 && h.Tools == 0:
		return LevelUnhealthy, ActionApprove
	case h.Quarantined > 0:
		return LevelDegraded, ActionApprove
	case status.Err != nil:
		return LevelDegraded, ActionWait // its tools are read again by themselves
	case h.Rejected > 0, status.State.Degraded != nil:
		return LevelDegraded, ActionNone
	}
	return LevelHealthy, ActionNone
}

func judgeCalls(c *Calls) (Level, Action) {
	if c.ErrorRate == nil || c.Recent.judged() < judgedCalls {
		return LevelHealthy, ActionNone
	}
	switch {
	case *c.ErrorRate >= failingRate:
		return LevelUnhealthy, ActionRestart
	case *c.ErrorRate >= shakyRate:
		return LevelDegraded, ActionNone
	}
	return LevelHealthy, ActionNone
}

// cureOfEntry returns what helps an entry that cannot be used.
func cureOfEntry(err error) Action {
	var unset *config.UnsetVariableError
	if errors.As(err, &unset) {
		return ActionSetSecret
	}
	return ActionConfigure
}
