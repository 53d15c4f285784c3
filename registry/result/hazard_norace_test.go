//go:build !race

package result

// raceEnabled says that the race detector is on.
const raceEnabled = false
