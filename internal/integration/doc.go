// Package integration runs this module against the reference servers of the
// MCP project, over each transport that they offer, and kills them in mid-run.
//
//	go test -race -tags integration ./internal/integration/...
//
// The servers are npm packages, pinned by the lock file in testdata/npm and
// installed once into bin/integration. npm and Node.js 20 or newer must be on
// the PATH. Nothing but the installation uses the network; the servers listen
// on the loopback interface's ports, chosen by the system.
package integration
