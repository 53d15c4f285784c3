// Package apps shows apps of servers in a real browser, by host/apps: those of the MCP project's examples, and hostile ones.
//
//	go test -race -tags integration ./internal/integration/apps
//	go test -tags integration ./internal/integration/apps -run TestServers -update
//
// The second writes the pictures of docs/images/apps. Chromium, npm and Node.js must be on the PATH; the servers are pinned by the
// lock file in testdata/npm.
package apps
