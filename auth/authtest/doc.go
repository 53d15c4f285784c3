// Package authtest is the other side of a login, for tests: an authorization
// server and protected resources, on loopback addresses, in this process. They are
// strict where the MCP specification is, and as broken as a test wants them to
// be. They share no code with package auth.
//
// # A login in a few lines
//
//	server := authtest.NewServer(t, nil)
//	resource := server.NewMCP(nil)
//	// ... log in at resource.URL; it leads to an address for the user:
//	callback, err := server.Approve(ctx, authorizationURL)
//
// [Server.Approve] plays the browser of a user who agrees; [Server.Deny] that of a
// user who does not. With Options.LoginPage there is a page for a real browser.
//
// # Resources
//
// [Server.Protect] puts any handler behind the server. [Server.NewMCP] is an MCP
// server with two tools. ResourceOptions.ToolScopes makes tools need more scopes than others.
//
// # What went on
//
// [Server.Requests], [Server.Granted] and [Server.Revoked] return what was asked and
// what came of it, [Server.Families] what was issued for which login.
// [Server.Secrets] returns what must not appear in any log.
//
// # Faults
//
// [Server.Fail] refuses, delays or cuts requests, also after they had their
// effect. [Server.ExpireAll], [Server.EndAll] and [Server.Purge] make the server
// forget. The functions in [Options] and [ResourceOptions] alter documents and
// answers.
package authtest
