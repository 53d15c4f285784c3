// Package jwt lets callers in who have a JSON Web Token that a program has signed with a secret of
// its own (HS256), as programs do that manage servers for their own users:
//
//	tokens, err := jwt.New(&jwt.Options{Key: key, Issuer: "https://app.example", Audience: "belt"})
//	h, err := admin.Handler(manager, &admin.Options{Authenticate: tokens, Roles: roles})
//
// Whoever has the key can make tokens. For those of an authorization server there is package
// host/access/oidc.
package jwt
