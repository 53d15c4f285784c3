// Package access says who makes a request of a gateway, and what they may.
//
// An [Authenticator] looks at an HTTP request and returns a [Caller]: the user whose logins
// are used, and a [Grant] with what the credential of the request allows. It is what
// gateway.Options takes. [Keys] are API keys, in a store or in a file; package host/access/oidc
// takes tokens of authorization servers; [Any] takes either.
//
//	keys, err := access.LoadKeys(ctx, store, "keys")
//	...
//	g, err := gateway.New(h, &gateway.Options{Authenticate: access.Any(keys.Authenticate, tokens.Authenticate)})
package access
