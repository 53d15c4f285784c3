package main

import (
	"bufio"
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/benchprocess"
)

// manyServers is how many servers are connected at once where many are.
const manyServers = 50

// connects connects again and again for a while. Closing does not count.
func (c *client) connects(ctx context.Context, w work, slot time.Duration) (cell, error) {
	return dialFor(slot, func() (cell, error) {
		var s session
		sum, err := measure(func() (_ int, err error) {
			s, err = c.connect(ctx, w.link)
			return 1, err
		})
		if err != nil {
			return cell{}, err
		}
		return sum, s.Close()
	})
}

// connect makes a session and makes sure by a small call that it works.
func (c *client) connect(ctx context.Context, link string) (session, error) {
	s, err := c.dial(ctx, link)
	if err != nil {
		return nil, err
	}
	if f, ok := s.(*floorPipe); ok {
		f.out = bufio.NewReader(f.pipe) // without the room for long answers
	}
	first := echo(0)
	if err := s.Call(ctx, &first); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// hold connects many servers at once, weighs what they hold while they are idle,
// and closes them at once.
func (c *client) hold(ctx context.Context, w work, _ time.Duration) (cell, error) {
	first, err := c.connect(ctx, w.link) // for code and pools that are made once
	if err == nil {
		err = first.Close()
	}
	if err != nil {
		return cell{}, err
	}
	sessions := make([]session, w.servers)
	before := weigh()
	start := time.Now()
	err = benchprocess.Together(w.servers, func(i int) (err error) {
		sessions[i], err = c.connect(ctx, w.link)
		return err
	})
	open := time.Since(start)
	held := weigh()
	start = time.Now()
	err = errors.Join(err, benchprocess.Together(w.servers, func(i int) error {
		if sessions[i] == nil {
			return nil
		}
		return sessions[i].Close()
	}))
	closing := time.Since(start)
	n := float64(w.servers)
	return cell{More: map[string]float64{
		"open":       float64(open.Nanoseconds()) / 1e6,
		"close":      float64(closing.Nanoseconds()) / 1e6,
		"goroutines": (held.goroutines - before.goroutines) / n,
		"heap":       (held.heap - before.heap) / n,
		"resident":   (held.resident - before.resident) / n,
	}}, err
}

// A weight is what the process holds, in KB of 1,000 bytes.
type weight struct{ goroutines, heap, resident float64 }

// weigh returns what the process holds when goroutines that end have ended. On
// systems that do not tell, resident is zero.
func weigh() weight {
	w := weight{goroutines: float64(runtime.NumGoroutine())}
	for range 20 { // two seconds at most
		time.Sleep(100 * time.Millisecond)
		before := w.goroutines
		if w.goroutines = float64(runtime.NumGoroutine()); w.goroutines == before {
			break
		}
	}
	runtime.GC() // what has a finalizer goes with the next
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w.heap = float64(m.HeapAlloc) / 1e3
	w.resident = benchprocess.Resident()
	return w
}
