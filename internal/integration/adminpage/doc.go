// Package adminpage runs the page of host/admin/page in a real browser, over a host with real
// servers: local ones, which are this test program, and ones over HTTP.
//
//	go test -race -tags integration ./internal/integration/adminpage
//	go test -tags integration ./internal/integration/adminpage -run TestScreenshots -update
//	go test -tags integration ./internal/integration/adminpage -run TestTenThousand -v
//
// The second writes the pictures of docs/images/admin, the third prints how fast the page is with
// 10,000 tools. Chromium, npm and Node.js must be on the PATH; axe-core is pinned by the lock
// file in testdata/npm.
package adminpage
