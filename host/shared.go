package host

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/catalog"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/internal/again"
	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/registry"
)

// shared is what a host and its servers have in common. It knows neither.
type shared struct {
	opts      Options
	registry  *registry.Registry
	catalogs  catalog.Cache
	ctx       context.Context // ends with Close, and cuts off what is under way
	cancel    context.CancelFunc
	intake    context.Context // ends when nothing new is begun any more, under mu
	refuse    context.CancelFunc
	ending    sync.WaitGroup // replaced, removed and idle servers that finish their calls
	consents  consents
	following *again.Task // does what others decide about launches, while there are servers for which that matters
	events    *events.Recorder
	changed   feed.Bell // rung when what Servers returns has changed

	mu    sync.Mutex // guards the following, and more of the host
	order []string   // the names of servers, as configured; replaced, never changed
}

func (h *shared) isClosing() bool { return h.intake.Err() != nil }

// whileOpen returns a context that ends with ctx, and when the host is being closed.
func (h *shared) whileOpen(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.intake, cancel)
	return ctx, func() { stop(); cancel() }
}

// visit begins something that the end of the host waits for, until leave is called.
func (h *shared) visit() (leave func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isClosing() {
		return nil, ErrClosed
	}
	h.ending.Add(1) // before the host is closed, so before it waits
	return h.ending.Done, nil
}

// inBackground waits for something as long as the host is not closed.
func (h *shared) inBackground(until wait) {
	if until != nil {
		h.ending.Go(func() { _ = until(h.ctx) })
	}
}

// call calls a function of the program, and turns its panic into an error: the functions of [Options] run on
// goroutines of the host, and where one panics it has failed for its server.
func call[Result any](h *shared, name string, f func() (Result, error)) (res Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s panics: %v", name, v)
			h.opts.Client.Logger.Error("host: a function of the program panics", "function", name, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	return f()
}

// warn tells the logger what looks like a mistake in a config.
func (h *shared) warn(warnings []*config.Error) {
	for _, warning := range warnings {
		h.opts.Client.Logger.Warn("host: configuration", "warning", warning)
	}
}

// await waits until something is done, or ctx ends.
func await(ctx context.Context, done <-chan struct{}) {
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// A wait waits for what a change has begun, when others may make the next one. A nil
// wait has nothing to wait for.
type wait func(context.Context) error

// atOnce calls f with each of a list, at the same time, and joins the errors.
func atOnce[T any](list []T, f func(T) error) error {
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, one := range list {
		wg.Go(func() { errs[i] = f(one) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (h *shared) names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.order
}
