package host

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"slices"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// cureOfConnection returns what helps a server to which there is no connection. It is
// to wait, unless trying again cannot help.
func cureOfConnection(err error) Action {
	var start *transport.StartError
	var exit *transport.ExitError
	var status *transport.StatusError
	var redirect *transport.RedirectError
	var option *transport.OptionError
	var dns *net.DNSError
	var isolation *IsolationError
	switch {
	case errors.As(err, &start), errors.As(err, &exit), errors.As(err, &redirect), errors.As(err, &option), errors.As(err, &isolation):
		return ActionConfigure
	case errors.As(err, &dns) && dns.IsNotFound:
		return ActionConfigure
	case errors.As(err, &status):
		switch status.Code {
		case http.StatusUnauthorized, http.StatusForbidden:
			return ActionSetSecret
		case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
			return ActionConfigure
		}
	}
	return ActionWait
}

// judgeUndiscovered sums up how a server does whose tools are read with the first login,
// by how that failed.
func judgeUndiscovered(err error) (Level, Action) {
	if err == nil || wantsLogin(err) {
		return LevelDegraded, ActionLogin
	}
	return LevelUnhealthy, cureOfConnection(err)
}

// wantsLogin reports whether an error is that of a user who has to log in.
func wantsLogin(err error) bool {
	return mcp.ClassOf(err) == mcp.ClassLoginRequired
}

func sortUsers(users []UserHealth) {
	slices.SortFunc(users, func(a, b UserHealth) int { return cmp.Compare(a.User, b.User) })
}
