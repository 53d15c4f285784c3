package auth

import "github.com/mcpbelt/mcpbelt/internal/guardhttp"

// A Flow has the steps of logging in at one server. Make one with [New]. It keeps nothing between
// them that could not be lost. Its methods are safe for concurrent use.
type Flow struct {
	config Config
	http   *guardhttp.Client
	nonces nonces
}

// Close closes idle connections. The Flow can still be used.
func (f *Flow) Close() {
	if f.http != nil {
		f.http.Close()
	}
}

// client returns what sends the requests.
func (f *Flow) client() *guardhttp.Client {
	if f.http == nil {
		panic("auth: the zero Flow is not usable: make it with New")
	}
	return f.http
}
