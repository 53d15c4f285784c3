package config

// An Auth is what an entry says of the login at its server, the key "auth".
type Auth struct {
	ClientID     string   // of a client that is registered already; else one is registered
	ClientSecret Secret   // of that client; a public client has none
	Scopes       []string // to ask for; nil means those that the server names
	Issuer       string   // the authorization server, if the server must not choose it
	RedirectURL  string   // where the user's browser comes back to
}
