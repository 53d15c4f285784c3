package mcp

import (
	"errors"
	"time"
)

// A Phase is what a [Client] does about its connection. Ready says that the server answers, not
// that its tools were listed: a host tells that by the Stage of its Status.
type Phase int

const (
	// Idle: the client was not used yet.
	Idle Phase = iota
	// Connecting: a connection is being made.
	Connecting
	// Ready: the server answers.
	Ready
	// Waiting: the last connection or attempt failed; the next attempt is at
	// State.RetryAt, or sooner if a call needs the server.
	Waiting
	// Authenticating: the user has to log in, at State.LoginURL. A connection that the
	// client has by then stays: requests are sent, and those that are refused fail with
	// an error that has the address of the login.
	Authenticating
	// Closed: the client was closed, for good.
	Closed
)

func (p Phase) String() string {
	names := [...]string{"idle", "connecting", "ready", "waiting", "authenticating", "closed"}
	if p < 0 || int(p) >= len(names) {
		return "unknown"
	}
	return names[p]
}

// A State is where a [Client] stood at one moment.
type State struct {
	// Phase is what the client is doing.
	Phase Phase
	// Since is when Phase began.
	Since time.Time
	// Err is why the last connection or attempt ended, or why a login is needed. It
	// is nil while Ready and after a Close in good order.
	Err error
	// Failures counts the attempts and short connections that failed in a row.
	Failures int
	// RetryAt is when the next attempt begins, while Waiting.
	RetryAt time.Time
	// LoginURL is where the user can log in, while Authenticating.
	LoginURL string
	// Connections counts the connections made so far.
	Connections int
	// ToolsVersion grows whenever the server's tools may have changed: with every new
	// connection and every notification of the server.
	ToolsVersion uint64
	// ResourcesVersion and PromptsVersion do the same for the lists of resources
	// and resource templates, and of prompts.
	ResourcesVersion, PromptsVersion uint64
	// QuestionsDeclined counts the questions of the server that were declined because
	// it asked too many, over all connections. Those that come within ten seconds are
	// one change for [Client.Watch]. See MaxQuestions of [ClientOptions].
	QuestionsDeclined int

	// The following describe the server while Ready, and while Authenticating on a
	// connection that stays. They are zero otherwise.

	// Server names the server's program, as it claims. It may be nil.
	Server *Implementation
	// ProtocolVersion is the revision spoken with the server.
	ProtocolVersion string
	// Instructions are the server's advice for using it. They are text of an
	// untrusted party.
	Instructions string
	// Capabilities are the features that the server offers. Do not change them.
	Capabilities *ServerCapabilities
	// Degraded says what does not work as it should although the server
	// answers, such as the guard that ends its processes should this process
	// be killed. It is nil if nothing is amiss.
	Degraded error
	// PID is the process id of a server that runs as a child process; 0 if there is none, and 0 is
	// no process to signal.
	PID int
}

// A login is what the user has to do before a server lets requests in. Transports
// tell of it by an error with a method LoginURL. Its method LoggedIn, if it has
// one, returns a channel that is closed when the user has logged in; its method
// StepUp reports whether the user is logged in and only that one request needs
// more rights.
type login struct {
	err  error
	url  string
	done <-chan struct{} // nil: there is no signal
}

// loginFor returns the login that a connection needs by an error, or nil.
func loginFor(err error) *login {
	var needed interface{ LoginURL() string }
	if !errors.As(err, &needed) {
		return nil
	}
	n := &login{err: err, url: needed.LoginURL()}
	var tells interface{ LoggedIn() <-chan struct{} }
	if errors.As(err, &tells) {
		n.done = tells.LoggedIn()
	}
	return n
}

// over reports whether the user has logged in since.
func (n *login) over() bool { return n != nil && isClosed(n.done) }

// needsRights reports whether an error is about one request only.
func needsRights(err error) bool {
	var needed interface{ StepUp() bool }
	return errors.As(err, &needed) && needed.StepUp()
}

// listKinds are the lists of a server, as a set.
type listKinds uint32

const (
	listTools listKinds = 1 << iota
	listResources
	listPrompts
)

// count counts new versions of lists.
func (s *State) count(kinds listKinds) {
	if kinds&listTools != 0 {
		s.ToolsVersion++
	}
	if kinds&listResources != 0 {
		s.ResourcesVersion++
	}
	if kinds&listPrompts != 0 {
		s.PromptsVersion++
	}
}

// counts returns a state with nothing but what counts across connections.
func (s State) counts() State {
	return State{
		Connections: s.Connections, QuestionsDeclined: s.QuestionsDeclined,
		ToolsVersion: s.ToolsVersion, ResourcesVersion: s.ResourcesVersion, PromptsVersion: s.PromptsVersion,
	}
}
