package mcp

import "time"

// poke leaves a note for a loop that looks at ch, unless one lies there already.
func poke(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// isClosed reports whether a channel that carries nothing is closed.
func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// within runs f and waits for it, but not longer than d.
func within(d time.Duration, f func()) {
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		f()
	}()
	select {
	case <-finished:
	case <-time.After(d):
	}
}
