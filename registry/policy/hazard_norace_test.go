//go:build !race

package policy

// raceEnabled says that the race detector is on.
const raceEnabled = false
