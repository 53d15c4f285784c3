// Package login logs users in at the remote servers of a host, as their config entries say:
//
//	logins, err := login.New(session.Memory(), &login.Options{
//		Session: session.Options{Prompt: &auth.Loopback{}},
//	})
//	if err != nil {
//		return err
//	}
//	defer logins.Close()
//	h, err := host.Open(ctx, path, &host.Options{Logins: logins})
//
// # Entries
//
// An entry says nothing of logins as a rule: the server does, and a client is
// registered when it is needed. The key "auth" of an entry names a client that was
// registered by hand (clientId; with clientSecret also issuer, which has registered it), the
// scopes to ask for, the issuer, where the browser comes back to (redirectUrl), how users log
// in (grant, loginParams, askConsent, noResource), and the endpoints of an authorization server
// that publishes no metadata, or does not say in it that it supports PKCE (authorizationUrl,
// tokenUrl, deviceUrl). What other programs say of it, as in "oauth", counts, too. No user logs
// in at a server whose entry has an Authorization header; see [config.Server.NoLogin].
//
// # Users
//
// Where all users share a connection they share its login, which has no user. Where
// each has their own, the tools of the server are read with the first login there.
package login
