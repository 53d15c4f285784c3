// Package oidc lets callers of a gateway in by the tokens of authorization servers: the gateway
// is a resource server of OAuth. It is a module of its own.
//
//	tokens, err := oidc.New(ctx, &oidc.Options{
//		Issuers:  []string{"https://login.example"},
//		Resource: "https://belt.example",
//	})
//	...
//	g, err := gateway.New(h, &gateway.Options{
//		Authenticate: tokens,
//		Resource:     &access.Resource{AuthorizationServers: []string{"https://login.example"}},
//	})
//
// # What is accepted
//
// A token is a JWT that an issuer signed with a key of its JWKS, by an asymmetric algorithm. It has not expired, and
// its audience is the URL of the view that the request is made of, with or without a slash at the end, or
// one of Options.Audiences: a token for /p/office/mcp is none for /p/home/mcp. It is an access token: by its type
// at+jwt (RFC 9068), or, if its type says nothing, because nothing marks it as an ID token. One that is bound to a key
// of the client is refused, since the possession of that key is not examined.
//
// Keys are read when a token needs one that is not known, at most every 2 seconds, and again after an
// hour. While the issuer is away those that are known go on; a token that needs others is
// answered with status 503, within 5 seconds.
//
// The token goes no further: servers are used with logins of their own.
//
// # Tokens that a program signs itself
//
// [NewSigned] takes tokens that are signed by HS256 with a secret key: those of a web application whose users manage
// servers by package host/admin, for example.
package oidc
