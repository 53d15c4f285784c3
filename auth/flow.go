package auth

import (
	"context"
	"errors"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

// A Flow has the steps of logging in at one server. It keeps nothing between
// them that could not be lost. Its methods are safe for concurrent use.
type Flow struct {
	config Config
	http   *guardhttp.Client
	nonces nonces
}

// Close closes idle connections. The Flow can still be used.
func (f *Flow) Close() { f.http.Close() }

// DiscoverOptions tell [Flow.Discover] what is known already.
type DiscoverOptions struct {
	// Challenges are those of the server's response with status 401 or 403.
	Challenges []Challenge
	// Issuer is the authorization server of an earlier login. It is preferred
	// as long as the server names it.
	Issuer string
	// HadMetadata says that the server was seen with protected resource
	// metadata before. Then the fallback of revision 2025-03-26 is ruled out,
	// as it could be forced by breaking the metadata.
	HadMetadata bool
}

// Discover finds the authorization server: the protected resource metadata that
// a challenge names, or else at the well-known addresses for the server's path
// and for its root; then the metadata of the authorization servers it names, in
// the order of the specification, until one works.
//
// Its errors are [*DiscoveryError], [*ResourceMismatchError],
// [*IssuerMismatchError], [*MetadataError] and [*URLError].
func (f *Flow) Discover(ctx context.Context, o *DiscoverOptions) (*Authority, error) {
	return nil, errors.New("not implemented")
}

// ChooseScopes returns the scopes to ask for: those of Config.Scopes; else those
// of the challenge; else those that the resource names. Scopes granted before are
// kept if the challenge is about insufficient scope, and offline_access is added
// where the authorization server lists it. The error is an [*ScopeError].
func (f *Flow) ChooseScopes(a *Authority, challenges []Challenge, before []string) ([]string, error) {
	return nil, errors.New("not implemented")
}

// Obtain gets a grant without a human, for the grant types that are not
// Interactive.
func (f *Flow) Obtain(ctx context.Context, a *Authority, c *Client, scopes []string) (*Grant, error) {
	return nil, errors.New("not implemented")
}
