package activity

// An Event is one thing that happened.
type Event struct{}
