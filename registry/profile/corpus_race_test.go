//go:build race

package profile_test

// corpusShare is the part of the made schemas that is tried, one of so many: the
// race detector slows down what has no races to find.
const corpusShare = 8

// raced says that the race detector is on: make norace runs what only takes longer
// with it.
const raced = true
