// Package auth logs in at MCP servers: OAuth 2.1 as the MCP specification
// profiles it, as steps that keep nothing. A [Flow] owns no goroutine, no storage
// and no browser; package session does, and is what most programs use.
//
//	flow, err := auth.New(&auth.Config{Server: "files", URL: "https://files.example.com/mcp"})
//	if err != nil {
//		return err
//	}
//	defer flow.Close()
//	authority, err := flow.Discover(ctx, nil) // each step has an error to look at
//	client, err := flow.Register(ctx, authority, redirectURI, nil, nil)
//	pending, err := flow.Begin(authority, client, redirectURI, []string{"read"})
//	fmt.Println("Visit", pending.URL) // the browser comes back to redirectURI: callback
//	tokens, err := flow.Complete(ctx, pending, callback)
//
// # The steps of a login
//
// A [Flow] is made of the [Config] of one server. [Flow.Discover] finds the
// authorization server, [Flow.Register] finds the client to speak to it as, and
// [Flow.Begin] makes a [Pending]: data that can be stored, with the address that
// the user has to visit. When the user's browser comes back to the redirect URI,
// [Flow.Complete] makes a [TokenSet] of the Pending and the address it came back to,
// perhaps in another process. [Flow.Refresh] makes a new TokenSet of an old one, and
// [Flow.Revoke] ends it.
//
// With a device code, [Flow.BeginDevice] and [Flow.Poll] take the place of Begin
// and Complete. Where no human is needed, [Flow.Obtain] returns a TokenSet at once:
// client credentials, enterprise-managed authorization and workload identity.
//
// # Showing a login
//
// A [Prompt] shows a login to a user and returns the address that Complete needs.
// A [Loopback] opens their browser and listens on a port of 127.0.0.1 until it comes
// back. With a [PasteURL] they open the page on another machine, and paste the
// address into the terminal. Both show the code of a login by device code. Programs
// whose users are elsewhere take session.Manager.CallbackHandler instead.
//
// # What it trusts
//
// Every address comes from a party that is not trusted before it is checked, the
// MCP server first of all. Requests go to https addresses on public networks
// only, except where the Config itself points elsewhere; see [Network]. Metadata
// of another issuer or resource than was asked for is refused, and what one
// authorization server has issued is never sent to another.
//
// # Secrets
//
// Tokens, keys and verifiers are [Secret]: no error, log or JSON shows them. TokenSet
// and Pending are stored by their MarshalBinary, whose result must be sealed.
package auth
