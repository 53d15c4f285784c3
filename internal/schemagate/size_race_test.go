//go:build race

package schemagate

// The race detector slows down what has no races to find: with it, a part is tried, and
// make norace runs the whole.
const (
	shapesShare = 5  // of the shapes, one of so many
	valuesShare = 20 // of the length of large values
)

// raced says that the race detector is on.
const raced = true
