//go:build race

package transport

// raceEnabled says that the race detector runs, which takes memory that is used again.
const raceEnabled = true
