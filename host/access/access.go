package access

import "net/http"

// A Caller is who makes a request. It does not change. A nil Caller is one without a user
// who may use all servers.
type Caller struct {
	// User is on whose behalf servers are used, with the logins of that user. Empty: on
	// behalf of no user.
	User string
	// Credential names what the request was made with, such as the id of a key, in logs. Callers
	// with different credentials share no session. It is not a secret.
	Credential string
	// Grant is what the caller may. Nil: use all servers.
	Grant *Grant
}

// A Grant is what a caller may. The zero value is to use all servers, and to change none.
type Grant struct {
	// Profiles are patterns of the names of profiles: with any, the caller reaches no other view.
	Profiles []string
	// Servers are patterns of the names of servers. Default: all, and the program's own tools.
	Servers []string
	// Tools are patterns of the names of tools in the registry. Default: all.
	Tools []string
	// ReadOnly leaves out tools that do not say that they only read.
	ReadOnly bool
	// Manage lets the caller add, change and remove servers.
	Manage bool
}

// An Authenticator returns who makes a request. An error refuses the request; its text is logged
// and not sent. It is safe for concurrent use.
type Authenticator func(*http.Request) (*Caller, error)
