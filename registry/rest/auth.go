package rest

// An Auth is how requests log in. Which fields count depends on Type; the others are
// empty. Values may hold ${NAME}, see [API].
type Auth struct {
	// Type is the kind of login. Empty: none.
	Type AuthType `json:"type,omitempty"`
	// In is where an API key or a token that was fetched goes: InHeader (the
	// default), InQuery, InCookie or InBody. In a body it becomes a member of the
	// JSON object or a field of the form; a request without a body gets one, unless
	// its method has none.
	In Place `json:"in,omitempty"`
	// Name is what it is called there. Default: X-API-Key in a header, api_key
	// elsewhere; Authorization and access_token for a token that was fetched.
	Name string `json:"name,omitempty"`
	// Value is the API key or the bearer token. For a token that was fetched it is
	// what is sent, and {{token}} in it stands for the token; default: "Bearer
	// {{token}}" in the header Authorization, {{token}} elsewhere.
	Value string `json:"value,omitempty"`
	// User is the user name of basic authentication (RFC 7617). It has no colon.
	User string `json:"user,omitempty"`
	// Password is the password of basic authentication. It may be empty.
	Password string `json:"password,omitempty"`
	// Token says where a token comes from that is fetched first.
	Token *TokenRequest `json:"token,omitempty"`
}

// An AuthType is a kind of login.
type AuthType string

// The kinds. Other headers that a service wants are among [API].Headers.
const (
	NoAuth     AuthType = ""        // no login
	APIKey     AuthType = "api_key" // Value, where In and Name say
	Bearer     AuthType = "bearer"  // Value, in the header Authorization (RFC 6750)
	Basic      AuthType = "basic"   // User and Password (RFC 7617)
	FetchToken AuthType = "token"   // as [Auth].Token says
)
