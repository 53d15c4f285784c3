//go:build race

package gateway_test

// raceEnabled says that the race detector runs, under which all is slow.
const raceEnabled = true
