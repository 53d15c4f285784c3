// Package integration runs this module against real servers, over each transport
// that they offer, and kills them in mid-run. They are the reference servers of
// the MCP project, the official Go SDK's server for its conformance tests, and
// examples/servers/features.
//
//	go test -race -tags integration ./internal/integration/...
//
// With -v, TestFeatures prints a table of what was tried with which of them.
//
// The other way round, the clients of the MCP project use these servers through a gateway: the official
// TypeScript client and the inspector.
//
// Go packages that mcpbelt generates for five of these servers are compiled, and call tools.
//
// The reference servers and the clients are npm packages, pinned by the lock files in
// testdata/npm and testdata/clients and installed once into bin/integration. npm and Node.js 20 or
// newer must be on the PATH. Nothing but the installation uses the network; the
// servers listen on the loopback interface's ports, chosen by the system.
//
// The page of host/admin/page has a package of its own, adminpage.
//
// The logins go to an authorization server of the npm registry, oidc-provider,
// with a real browser: chromium must be on the PATH. The package chromium of
// Debian is enough, with --no-install-recommends.
package integration
