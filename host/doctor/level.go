package doctor

import (
	"errors"
	"net"
	"net/http"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp/failure"
	"github.com/mcpbelt/mcpbelt/transport"
)

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

// The actions, see [Health].
const (
	actionNone      = "none"       // nothing is to be done
	actionWait      = "wait"       // it is being connected, or tried again by itself
	actionLogin     = "login"      // the user has to log in
	actionAllow     = "allow"      // the launch of the server waits to be allowed
	actionAccept    = "accept"     // tools of the server wait to be accepted
	actionRestart   = "restart"    // it runs and fails
	actionEnable    = "enable"     // it is switched off
	actionConfigure = "configure"  // its entry has to be changed
	actionSetSecret = "set_secret" // a variable or a credential is missing or no good
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
func judge(h *Health) (Level, string) {
	status := &h.Status
	switch status.Stage {
	case host.StageDisabled:
		return LevelHealthy, actionEnable
	case host.StageInvalid:
		return LevelUnhealthy, cureOfEntry(status.Err)
	case host.StageNotAllowed:
		return LevelUnhealthy, actionAllow
	case host.StageLogin:
		return LevelUnhealthy, actionLogin
	case host.StageWaiting:
		return LevelUnhealthy, cureOfConnection(status.Err)
	case host.StageQuarantined:
		return LevelUnhealthy, actionAccept
	case host.StageStarting:
		return LevelDegraded, actionWait
	}
	if level, action := judgeCalls(&h.Calls); level != LevelHealthy {
		return level, action
	}
	switch u := status.Unapplied; {
	case u != nil && u.Entry.Err != nil:
		return LevelDegraded, cureOfEntry(u.Err)
	case u != nil:
		return LevelDegraded, cureOfConnection(u.Err)
	case status.Quarantined > 0 && status.Tools == 0:
		return LevelUnhealthy, actionAccept
	case status.Quarantined > 0:
		return LevelDegraded, actionAccept
	case status.Err != nil:
		return LevelDegraded, actionWait // its tools are read again by themselves
	case len(status.Rejected) > 0, status.State.Degraded != nil:
		return LevelDegraded, actionNone
	}
	return LevelHealthy, actionNone
}

func judgeCalls(c *host.Calls) (Level, string) {
	if c.ErrorRate == nil || c.Recent.Judged() < judgedCalls {
		return LevelHealthy, actionNone
	}
	switch {
	case *c.ErrorRate >= failingRate:
		return LevelUnhealthy, actionRestart
	case *c.ErrorRate >= shakyRate:
		return LevelDegraded, actionNone
	}
	return LevelHealthy, actionNone
}

// cureOfEntry returns what helps an entry that cannot be used.
func cureOfEntry(err error) string {
	if errors.As(err, new(*config.UnsetVariableError)) {
		return actionSetSecret
	}
	return actionConfigure
}

// cureOfConnection returns what helps a server to which there is no connection. It is
// to wait, unless trying again cannot help.
func cureOfConnection(err error) string {
	var status *transport.StatusError
	var dns *net.DNSError
	switch {
	case wantsToken(err):
		return actionSetSecret
	case errors.As(err, new(*transport.StartError)), errors.As(err, new(*transport.ExitError)), errors.As(err, new(*transport.RedirectError)),
		errors.As(err, new(*transport.OptionError)), errors.As(err, new(*host.IsolationError)):
		return actionConfigure
	case errors.As(err, &dns) && dns.IsNotFound, isWebPage(err):
		return actionConfigure
	case errors.As(err, &status):
		switch status.Code {
		case http.StatusUnauthorized, http.StatusForbidden:
			return actionSetSecret
		case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
			return actionConfigure
		}
	}
	return actionWait
}

// wantsToken reports whether an error is that of a server that wants credentials, and has no login.
func wantsToken(err error) bool {
	var silent interface{ NoOAuth() bool }
	return errors.As(err, &silent) && silent.NoOAuth()
}

// judgeUndiscovered sums up how a server does whose tools are read with the first login,
// by how that failed.
func judgeUndiscovered(err error) (Level, string) {
	if err == nil || wantsLogin(err) {
		return LevelDegraded, actionLogin
	}
	return LevelUnhealthy, cureOfConnection(err)
}

// wantsLogin reports whether an error is that of a user who has to log in.
func wantsLogin(err error) bool {
	return failure.Of(err) == failure.LoginRequired
}
