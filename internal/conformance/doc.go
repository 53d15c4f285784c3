// Package conformance runs the official MCP conformance suite against this
// module: the program in the folder client is the client under test, and each
// scenario of the suite plays the server (or the authorization server).
//
//	go test -tags conformance -v ./internal/conformance/...
//
// The suite and the Node.js that it needs are npm packages, pinned by the lock
// file in the folder npm and installed once into bin/conformance. npm must be
// on the PATH.
//
// CONFORMANCE_CLIENT in the environment names another client to test, for
// comparison; its command line must contain no space.
//
// The file scenarios.json lists every scenario of the pinned suite: the number
// of checks that have to succeed, or why the scenario is not supported. The
// number matters because a client that does nothing passes some scenarios with
// no check at all.
//
// TestGateway turns it round: the suite is the client, and tests the official SDK's server once
// itself and once through a gateway. The two have to end alike, check by check.
package conformance
