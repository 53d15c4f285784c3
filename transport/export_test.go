package transport

import "time"

// BaseEnvNames are the names of what BaseEnv passes on.
var BaseEnvNames = baseEnvNames

// CheckBatch is what is done before a start on Windows.
var CheckBatch = checkBatch

// SetPatience sets how long connections wait for what comes at once unless the machine is busy.
func (h *HTTP) SetPatience(d time.Duration) { h.patience = d }

// SetWaits sets the waits for the end of a server after that of its input, for its exit after
// the end of its output, and for its output after its exit. Zero is the default.
func (c *Command) SetWaits(input, exit, drain time.Duration) {
	c.waits = commandWaits{input, exit, drain}
}
