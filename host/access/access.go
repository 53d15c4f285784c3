package access

import "net/http"

// A Caller is who makes a request: a user, a credential, or both. It does not change. (An mcp.Caller is a
// connection.)
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

// Owner returns by whom the approvals, results, scripts and sessions of the caller are kept apart from those of
// others, and counted: the User or, without one, "credential:" and the Credential. It is empty if both are.
func (c *Caller) Owner() string {
	if c.User == "" && c.Credential != "" {
		return credentialOwner + c.Credential
	}
	return c.User
}

// credentialOwner begins the owners that are no users.
const credentialOwner = "credential:"

// A Grant is what a caller may. The zero value is to use all servers, and to change none.
type Grant struct {
	// Profiles are patterns of the names of profiles: with any, the caller reaches no other view.
	Profiles []string `json:"profiles,omitempty"`
	// Servers are patterns of the names of servers: of their tools, resources and prompts. Default:
	// all, and the program's own tools.
	Servers []string `json:"servers,omitempty"`
	// Tools are patterns of the names of tools in the registry. Without Servers, the caller has no resources
	// and prompts beside them. Default: all.
	Tools []string `json:"tools,omitempty"`
	// ReadOnly leaves out tools that do not say that they only read.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Manage lets the caller add, change and remove servers.
	Manage bool `json:"manage,omitempty"`
	// Mode is how tools are shown to the caller, unless a request says otherwise: auto, direct,
	// search or code. Default: that of the gateway.
	Mode string `json:"mode,omitempty"`
}

// An Authenticator returns who makes a request. It looks at the header fields, and leaves the body
// alone. An error, or no Caller, refuses the request, with status 401 unless it is a [*RefusedError] that says
// otherwise; its text is logged, so it holds no credential, and is not sent. Whatever the last
// answer was, the next counts from the next request on. It is safe for concurrent use.
type Authenticator func(*http.Request) (*Caller, error)
