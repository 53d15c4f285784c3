//go:build race

package profile_test

// The race detector slows down what has no races to find: with it, a part is tried, and
// make norace runs the rest.
const (
	corpusShare = 8  // of the made schemas, one of so many
	tripValues  = 4  // for each schema that is tried back and forth
	realShare   = 3  // of the real tools, one of so many for each provider
	lossRounds  = 60 // schemas by chance that are held to their losses
)

// raced says that the race detector is on: make norace runs what only takes longer
// with it.
const raced = true
