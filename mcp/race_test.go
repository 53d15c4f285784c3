//go:build race

package mcp_test

// raceEnabled says that the race detector is on. It allocates on its own
// account, so what is allocated is not counted then.
const raceEnabled = true
