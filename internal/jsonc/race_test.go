//go:build race

package jsonc

// raced says that the race detector is on: make norace runs what only takes longer
// with it.
const raced = true
