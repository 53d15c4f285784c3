package rest

// An Auth is how requests log in. Which fields count depends on Type. Values may
// hold ${NAME}, see [API].
type Auth struct {
	// Type is the kind of login. Empty: none.
	Type AuthType `json:"type,omitempty"`
	// In is where an API key goes: InHeader (the default), InQuery, InCookie or
	// InBody.
	In Place `json:"in,omitempty"`
	// Name is what the API key is called there. Default: X-API-Key in a header,
	// api_key elsewhere.
	Name string `json:"name,omitempty"`
	// Value is the API key or the bearer token.
	Value string `json:"value,omitempty"`
	// User and Password are those of basic authentication.
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
	// Token says where a token comes from that is fetched first.
	Token *TokenSource `json:"token,omitempty"`
}

// An AuthType is a kind of login.
type AuthType string

// The kinds. Other headers that a service wants are among [API].Headers.
const (
	NoAuth     AuthType = ""
	APIKey     AuthType = "api_key"
	Bearer     AuthType = "bearer"
	Basic      AuthType = "basic"
	FetchToken AuthType = "token" // as [Auth].Token says
)
