// Package proc knows of the processes that this one has started: whether they are about to
// end, when they have ended or written something, and what they have left behind. Most of
// it is for Linux, and says on other systems that it does not know.
package proc

import "errors"

// MarkVariable is the environment variable by which a child and what it starts
// are recognized. Its value is the id of a watchdog, a dot, and a number.
const MarkVariable = "MCPBELT_PROCESS"

// ErrNothing says that there is nothing to read now.
var ErrNothing = errors.New("nothing to read")
