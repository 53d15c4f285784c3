//go:build !race

package names

// raceEnabled says that the race detector is on.
const raceEnabled = false
