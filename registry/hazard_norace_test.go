//go:build !race

package registry

// raceEnabled says that the race detector is on.
const raceEnabled = false
