package activity

// A Log passes events on to its sinks. All methods are safe for concurrent use.
type Log struct{}
