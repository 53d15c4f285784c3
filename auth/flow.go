package auth

import "github.com/mcpbelt/mcpbelt/internal/guardhttp"

// A Flow has the steps of logging in at one server. It keeps nothing between
// them that could not be lost. Its methods are safe for concurrent use.
type Flow struct {
	config Config
	http   *guardhttp.Client
	nonces nonces
}

// Close closes idle connections. The Flow can still be used.
func (f *Flow) Close() { f.http.Close() }
