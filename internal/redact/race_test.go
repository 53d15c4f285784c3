//go:build race

package redact_test

// raced says that the race detector is on: make norace runs what only takes longer
// with it.
const raced = true
