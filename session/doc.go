// Package session keeps the logins of users at MCP servers: it gets them, renews
// them before they end, and keeps them in a store that several processes can
// share. Open a [Manager], and give its [Handler] to a transport:
//
//	m, err := session.Open(ctx, dir, nil, &auth.Config{Server: "github", URL: url})
//	defer m.Close()
//	t := &transport.HTTP{URL: url, OAuth: m.Handler(session.Key{Server: "github"})}
//	client := mcp.NewClient("github", t, nil)
//	err = auth.AwaitLogin(ctx, client.Ready)
//
// # In a program on the user's machine
//
// The first request that the server refuses opens the user's browser, once. A
// request does not wait for the user: it returns an [auth.LoginRequiredError], and
// an mcp.Client is Authenticating until the user has logged in, and then goes on by
// itself. [auth.AwaitLogin] waits for the user. [Manager.Login] and [Login.Wait] are for
// logins that the user has asked for: they begin another one if the user has logged in
// already.
//
// [NewManager] is for other stores, such as one whose sealing key is in the keyring of
// the operating system ([keyringstore]), and for servers that come and go.
//
// A user who declines, or does not answer, is not asked again until the program calls
// Login. In a web program, where nothing is shown unasked, only declining counts.
//
// # In a web program
//
// Leave Prompt out, set Options.RedirectURL to the address of
// [Manager.CallbackHandler], and send each user to the URL of the error or of
// Login. Sessions are named by [Key], one for each user and server. The
// credentials of a request depend on nothing but its Handler's key; with [WithUser] a
// Handler refuses requests that are made for another user.
//
// # How tokens are renewed
//
// At about three quarters of their lifetime, when they have ended by the clock, and
// when the server refuses them, whatever the clock says. Of all requests that need that,
// here and in other processes, one does it: jobs are shared within a process, and
// the session's lock keeps others away.
//
// Before a refresh token is sent, the journal says so in the store: a store that
// cannot be written is found out while the token is still good. The request does
// not end with its caller. Its answer is saved before any caller gets it. An
// answer without a refresh token keeps the old one. Only invalid_grant for the
// newest refresh token ends a session; after anything else it is tried again,
// with growing waits, and other requests go on with the token they have.
//
// If the answer was lost on its way, the old refresh token is tried once more:
// some authorization servers allow that. Where not, the user has to log in, and
// the error says why.
//
// # Where sessions are kept
//
// A [seal.Store] seals each record, with a sealing key from a [seal.KeySource], before a
// driver keeps it: files ([filestore]), or anything that implements storage.Store and
// either storage.Locker or storage.Leaser.
// An attacker who has the store and not the key can read nothing and forge nothing, but can
// delete records and bring older ones back. [Memory] returns a store that ends with the
// program. A record that was damaged or altered counts as no login: the user logs in
// again.
//
// Where the program has to register itself at an authorization server, it does so once
// for each redirect URL, for all users and all processes that share the store, and again
// when the authorization server no longer knows it or its secret has expired. A login
// with a Prompt is registered for its session alone, as its address may be another one
// each time.
//
// Processes that share a store see what the others change within half a minute,
// or as soon as a server refuses what they send.
//
// [keyringstore]: https://pkg.go.dev/github.com/mcpbelt/mcpbelt/session/keyringstore
// [filestore]: https://pkg.go.dev/github.com/mcpbelt/mcpbelt/session/filestore
package session
