//go:build !race

package mcp_test

// raceEnabled says that the race detector is on.
const raceEnabled = false
