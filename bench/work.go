package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// manyCallers is how many goroutines call at once where many do.
const manyCallers = 64

// A work is what a client does for one cell of the table.
type work struct {
	name    string
	link    string
	do      func(*client, context.Context, work, time.Duration) (cell, error)
	big     bool // the long answer, else the small one
	callers int
	servers int  // how many are connected at once where many are; the order says it
	fresh   bool // done once, with a server of few tools
}

func works() []work {
	return []work{
		{name: "stdio-small", link: linkStdio, do: (*client).calls, callers: 1},
		{name: "stdio-64", link: linkStdio, do: (*client).calls, callers: manyCallers},
		{name: "stdio-big", link: linkStdio, do: (*client).calls, callers: 1, big: true},
		{name: "http-small", link: linkHTTP, do: (*client).calls, callers: 1},
		{name: "http-64", link: linkHTTP, do: (*client).calls, callers: manyCallers},
		{name: "http-big", link: linkHTTP, do: (*client).calls, callers: 1, big: true},
		{name: "sse-big", link: linkSSE, do: (*client).calls, callers: 1, big: true},
		{name: "registry-64", link: linkRegistry, do: (*client).calls, callers: manyCallers},
		{name: "stdio-list", link: linkStdio, do: (*client).lists},
		{name: "stdio-connect", link: linkStdio, do: (*client).connects, fresh: true},
		{name: "http-connect", link: linkHTTP, do: (*client).connects, fresh: true},
		{name: "stdio-50", link: linkStdio, do: (*client).hold, fresh: true},
		{name: "http-50", link: linkHTTP, do: (*client).hold, fresh: true},
		{name: "listen-50", link: linkListen, do: (*client).hold, fresh: true},
	}
}

func workOf(name string) (work, error) {
	for _, w := range works() {
		if w.name == name {
			return w, nil
		}
	}
	return work{}, fmt.Errorf("there is no work %q", name)
}

// A cell is what one client did in one round.
type cell struct {
	Calls   int           `json:"calls"`
	Elapsed time.Duration `json:"elapsed"` // in nanoseconds
	// What the client's process allocated meanwhile.
	Mallocs uint64 `json:"mallocs"`
	Bytes   uint64 `json:"bytes"`
	// More holds figures of another kind, by their names.
	More map[string]float64 `json:"more,omitempty"`
}

func (c *cell) add(other cell) {
	c.Calls += other.Calls
	c.Elapsed += other.Elapsed
	c.Mallocs += other.Mallocs
	c.Bytes += other.Bytes
}

// measure does something with an empty garbage collector and takes its cost.
func measure(do func() (calls int, err error)) (cell, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	calls, err := do()
	elapsed := time.Since(start)
	runtime.ReadMemStats(&after)
	return cell{
		Calls: calls, Elapsed: elapsed,
		Mallocs: after.Mallocs - before.Mallocs, Bytes: after.TotalAlloc - before.TotalAlloc,
	}, err
}

// A flooder is a session that has a way of its own to serve many callers.
type flooder interface {
	Flood(callers []call, until time.Time) (int, error)
}

// calls calls tools over the session of the link.
func (c *client) calls(ctx context.Context, w work, slot time.Duration) (cell, error) {
	s, err := c.session(ctx, w.link)
	if err != nil {
		return cell{}, err
	}
	return measure(func() (int, error) { return callFor(ctx, s, w, slot) })
}

// callFor calls tools for a while and returns how often.
func callFor(ctx context.Context, s session, w work, d time.Duration) (int, error) {
	callers := make([]call, w.callers)
	for i := range callers {
		callers[i] = echo(i)
		if w.big {
			callers[i] = big()
		}
	}
	until := time.Now().Add(d)
	if len(callers) == 1 {
		return callUntil(ctx, s, &callers[0], until)
	}
	if f, ok := s.(flooder); ok {
		return f.Flood(callers, until)
	}
	var total atomic.Int64
	errs := make([]error, len(callers))
	var running sync.WaitGroup
	for i := range callers {
		running.Go(func() {
			n, err := callUntil(ctx, s, &callers[i], until)
			total.Add(int64(n))
			errs[i] = err
		})
	}
	running.Wait()
	return int(total.Load()), errors.Join(errs...)
}

func callUntil(ctx context.Context, s session, c *call, until time.Time) (n int, err error) {
	for n == 0 || time.Now().Before(until) {
		if err := s.Call(ctx, c); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// lists lists the tools, each time on a new connection, since a client may keep
// the list. Only the listing counts: connecting, and a small call after which both
// sides are surely ready, do not.
func (c *client) lists(ctx context.Context, w work, slot time.Duration) (cell, error) {
	return dialFor(slot, func() (cell, error) { return listOnce(ctx, func() (session, error) { return c.dial(ctx, w.link) }) })
}

func listOnce(ctx context.Context, dial func() (session, error)) (c cell, err error) {
	s, err := dial()
	if err != nil {
		return cell{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ready := echo(0)
	if err := s.Call(ctx, &ready); err != nil {
		return cell{}, err
	}
	return measure(func() (int, error) {
		n, err := s.List(ctx)
		if err == nil && n != toolCount {
			err = fmt.Errorf("%d tools, not %d", n, toolCount)
		}
		return 1, err
	})
}

// dialFor does once again and again for a while and returns the sum.
func dialFor(slot time.Duration, once func() (cell, error)) (cell, error) {
	var sum cell
	for until := time.Now().Add(slot); sum.Calls == 0 || time.Now().Before(until); {
		c, err := once()
		if err != nil {
			return sum, err
		}
		sum.add(c)
	}
	return sum, nil
}
