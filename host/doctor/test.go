package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	// testConnectTimeout and testReadTimeout bound a test of an entry that says nothing of
	// time. They are those of a client.
	testConnectTimeout = 30 * time.Second
	testReadTimeout    = time.Minute
	// testCloseTimeout is how long the process of a test may take to stop by itself.
	testCloseTimeout = 2 * time.Second
)

// Test tries an entry out, on a connection of its own that has ended when Test returns,
// together with the process and all that the process started. The entry need not be in the
// configuration of the host, and may be switched off. Test touches nothing that runs or is
// kept: no server of the host, no list in its registry, not the ledger. Of logins it uses
// those there are, and renews one that has ended, as any use does, but it does not begin
// one; and the server can ask the user nothing.
//
// A server whose launch has to be allowed and is not is not started, and one that is
// to be confined is not started without.
//
// The report says what is wrong with the server, and that ctx has ended, or the time that the
// entry allows for connecting and for one answer, a minute and a half if it says nothing; after
// that the test returns within the few seconds that its process is given to stop. The
// error says that there was nothing to test, or that the host is closed.
func Test(ctx context.Context, h *host.Host, e *config.Server) (*TestReport, error) {
	if e == nil {
		return nil, errors.New("doctor: no server to test: the entry is nil")
	}
	limit := cmp.Or(e.ConnectTimeout, testConnectTimeout) + cmp.Or(e.ReadTimeout, testReadTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTestTime)
	defer cancel()
	p := &probe{host: h, entry: e, begun: time.Now(), seen: sightings{reached: map[string]bool{}}}
	err := h.Try(ctx, e, func(t mcp.Transport) (mcp.Transport, error) { return p.observed(ctx, t) }, p.run)
	if errors.Is(err, host.ErrClosed) {
		return nil, err
	}
	if err != nil { // there is no transport
		p.fail(err)
		p.took = time.Since(p.begun)
	}
	return p.report(ctx), nil
}

// errTestTime ends a test that takes too long.
var errTestTime = errors.New("the time for the test is over")

// run makes the connection, asks for the tools, and ends the connection.
func (p *probe) run(ctx context.Context, t mcp.Transport, opts *mcp.ClientOptions) error {
	p.reach(testResolved)
	client := mcp.NewClient(p.entry.Name, &probeTransport{t, p}, opts)
	defer func() {
		p.took = time.Since(p.begun)
		p.state = client.State()
		if err := client.Close(); err != nil {
			p.fail(fmt.Errorf("ending the connection: %w", err))
		}
		for _, t := range p.owned {
			t.CloseIdleConnections()
		}
	}()
	if err := client.Ready(ctx); err != nil {
		p.fail(err)
		return nil
	}
	p.reach(testInitialized)
	p.ready = client.State()
	tools, err := client.Tools(ctx)
	if err != nil {
		p.fail(fmt.Errorf("listing the tools: %w", err))
		return nil
	}
	p.reach(testListed)
	p.listed(client, tools)
	return nil
}
