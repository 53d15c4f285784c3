package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	// testConnectTimeout and testReadTimeout bound a test of an entry that says
	// nothing of time. They are those of a client.
	testConnectTimeout = 30 * time.Second
	testReadTimeout    = time.Minute
	// testCloseTimeout is how long the process of a test may take to stop by itself.
	testCloseTimeout = 2 * time.Second
)

// TestOptions are the options of [Host.Test]. Nil and the zero value mean the
// defaults.
type TestOptions struct {
	// Timeout bounds the test as a whole. Default: what the entry allows for
	// connecting and for one answer, which is a minute and a half if it says nothing.
	Timeout time.Duration
}

// Test tries an entry out, on a connection of its own that has ended when it
// returns, together with the process and all that the process started. The entry
// need not be in the configuration, and may be switched off. Nothing that runs is
// touched by it: no server of the host, no list in its registry, not the ledger nor
// anything else that is kept. Of logins it uses those there are, and renews one that
// has ended, as any use does, but it does not begin one; and the server can ask the
// user nothing.
//
// A server that needs approval and does not have it is not started, and one that is
// to be confined is not started without.
//
// What is wrong with the server is in the report, and so is the end of ctx; after
// that the test returns within the few seconds that its process is given to stop. The
// error says that there was nothing to test, or that the host is closed.
func (h *Host) Test(ctx context.Context, e *config.Server, opts *TestOptions) (*TestReport, error) {
	need(ctx)
	if e == nil {
		return nil, errors.New("host: no server to test: the entry is nil")
	}
	leave, err := h.visit()
	if err != nil {
		return nil, err
	}
	defer leave()
	h.mu.Lock()
	e = h.scopes.keep(e)
	h.mu.Unlock()
	ctx, release := h.whileOpen(ctx)
	defer release()
	ctx, cancel := context.WithTimeoutCause(ctx, testTimeout(e, opts), errTestTime)
	defer cancel()
	p := newProbe(h, e)
	p.run(ctx)
	if h.isClosing() {
		return nil, ErrClosed
	}
	return p.report(ctx), nil
}

// visit begins something that the end of the host waits for, until leave is called.
func (h *Host) visit() (leave func(), err error) {
	if err := h.made(); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	h.ending.Add(1) // before the host is closed, so before somebody waits
	return h.ending.Done, nil
}

// errTestTime ends a test that takes too long.
var errTestTime = errors.New("the time for the test is over")

func testTimeout(e *config.Server, opts *TestOptions) time.Duration {
	if opts != nil && opts.Timeout > 0 {
		return opts.Timeout
	}
	connect, read := e.ConnectTimeout, e.ReadTimeout
	if connect <= 0 {
		connect = testConnectTimeout
	}
	if read <= 0 {
		read = testReadTimeout
	}
	return connect + read
}

// run makes the connection, asks for the tools, and ends the connection.
func (p *probe) run(ctx context.Context) {
	t, err := p.recipe(ctx)
	if err != nil {
		p.fail(err)
		p.took = time.Since(p.begun)
		return
	}
	p.reach(TestResolved)
	client := mcp.NewClient(p.entry.Name, &probeTransport{t, p}, p.clientOptions())
	defer func() {
		p.took = time.Since(p.begun)
		p.state = client.State()
		if err := client.Close(); err != nil {
			p.fail(fmt.Errorf("ending the connection: %w", err))
		}
		p.end()
	}()
	if err := client.Ready(ctx); err != nil {
		p.fail(err)
		return
	}
	p.reach(TestInitialized)
	p.initialized(client.State())
	tools, err := client.Tools(ctx)
	if err != nil {
		p.fail(fmt.Errorf("listing the tools: %w", err))
		return
	}
	p.reach(TestListed)
	p.listed(client, tools)
}
