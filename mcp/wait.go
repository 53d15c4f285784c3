package mcp

import (
	"sync"
	"time"
)

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

// goroutines are those of an owner, which waits for them at its end.
type goroutines struct {
	adding sync.Mutex // orders Add of all before Wait
	all    sync.WaitGroup
	ending bool
}

// run runs f on a goroutine. It does nothing, and reports so, once the owner waits.
func (g *goroutines) run(f func()) bool {
	g.adding.Lock()
	defer g.adding.Unlock()
	if !g.ending {
		g.all.Go(f)
	}
	return !g.ending
}

// wait waits for all, for a while.
func (g *goroutines) wait() {
	g.adding.Lock()
	g.ending = true
	g.adding.Unlock()
	within(closeTimeout, g.all.Wait)
}
