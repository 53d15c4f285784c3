//go:build race

package names

// raceEnabled says that the race detector is on, which makes large tests slow.
const raceEnabled = true
