package mcp

import "time"

// A Phase is a stage of a [Client].
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
	switch p {
	case Idle:
		return "idle"
	case Connecting:
		return "connecting"
	case Ready:
		return "ready"
	case Waiting:
		return "waiting"
	case Authenticating:
		return "authenticating"
	case Closed:
		return "closed"
	}
	return "unknown"
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
	// PID is the process id of a server that runs as a child process.
	PID int
}
