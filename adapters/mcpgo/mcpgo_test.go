package mcpgo_test

import (
	"context"
	"io"
	"log"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	gomcp "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"

	belt "github.com/mcpbelt/mcpbelt/adapters/mcpgo"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// background runs a function that ends with its context until the test ends.
func background(t *testing.T, run func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
}

// overHTTP connects a client to a server over Streamable HTTP.
func overHTTP(t *testing.T, s *server.MCPServer, opts ...client.ClientOption) *client.Client {
	t.Helper()
	h := httptest.NewServer(server.NewStreamableHTTPServer(s))
	t.Cleanup(h.Close)
	tr, err := transport.NewStreamableHTTP(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, client.NewClient(tr, opts...))
}

// overStdio connects a client to a server over the pipes of the stdio transport.
func overStdio(t *testing.T, s *server.MCPServer, opts ...client.ClientOption) *client.Client {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	stdio := server.NewStdioServer(s)
	stdio.SetErrorLogger(log.New(io.Discard, "", 0))
	background(t, func(ctx context.Context) {
		// A client that is closed reads no more, and the server may still write.
		defer context.AfterFunc(ctx, func() { _ = toClient.Close() })()
		_ = stdio.Listen(ctx, toServer, fromServer) // ends with the client
		_ = fromServer.Close()
	})
	return connect(t, client.NewClient(transport.NewIO(toClient, fromClient, io.NopCloser(nothing{})), opts...))
}

// Nothing is a reader at its end.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }

func connect(t *testing.T, c *client.Client) *client.Client {
	t.Helper()
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	request := gomcp.InitializeRequest{}
	request.Params.ClientInfo = gomcp.Implementation{Name: "test", Version: "1"}
	if _, err := c.Initialize(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	return c
}

// A chain is an agent whose tools come from a registry by way of a server and a client of
// mcp-go: registry, Export, server, client, Source, another registry.
type chain struct {
	adaptertest.Agent
	first, last *registry.Registry
	urls        chan string // pages that the user shall visit
	approvals   chan string // ids of what waits for approval

	over  chan over
	waits bool // the inner agent waits
}

type over struct {
	turn *adaptertest.Turn
	err  error
}

// Elicit is the user's program: it shows them a page.
func (c *chain) Elicit(ctx context.Context, request gomcp.ElicitationRequest) (*gomcp.ElicitationResult, error) {
	c.urls <- request.Params.URL
	return &gomcp.ElicitationResult{ElicitationResponse: gomcp.ElicitationResponse{Action: gomcp.ElicitationResponseActionAccept}}, nil
}

func (c *chain) Ask(ctx context.Context, message string) (*adaptertest.Turn, error) {
	c.same(ctx)
	return c.run(ctx, func(ctx context.Context) (*adaptertest.Turn, error) { return c.Agent.Ask(ctx, message) })
}

func (c *chain) Resume(ctx context.Context) (*adaptertest.Turn, error) {
	if c.waits {
		return c.run(ctx, c.Agent.Resume)
	}
	return c.await()
}

// run lets the inner agent work, until a person is wanted: then it goes on, for the call
// waits for them, though ctx may end.
func (c *chain) run(ctx context.Context, work func(context.Context) (*adaptertest.Turn, error)) (*adaptertest.Turn, error) {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(ctx.Err()) })
	defer stop()
	go func() {
		defer cancel(nil)
		turn, err := work(inner)
		c.over <- over{turn, err}
	}()
	return c.await()
}

// same waits until the last registry has the tools of the first.
func (c *chain) same(ctx context.Context) {
	names := func(s *registry.Snapshot, name func(*registry.Definition) string) []string {
		var all []string
		for _, t := range s.Tools() {
			all = append(all, name(t.Definition()))
		}
		slices.Sort(all)
		return all
	}
	want := names(c.first.Snapshot(), func(d *registry.Definition) string { return d.Name })
	for s := range c.last.Watch(ctx) {
		if slices.Equal(want, names(s, func(d *registry.Definition) string { return d.Origin.Tool })) {
			return
		}
	}
}

func (c *chain) await() (*adaptertest.Turn, error) {
	select {
	case o := <-c.over:
		c.waits = o.err == nil && len(o.turn.Waits) > 0
		return o.turn, o.err
	case url := <-c.urls:
		return &adaptertest.Turn{Waits: []adaptertest.Wait{{LoginURL: url}}}, nil
	case id := <-c.approvals:
		return &adaptertest.Turn{Waits: []adaptertest.Wait{{Approval: id}}}, nil
	}
}

func start(connect func(*testing.T, *server.MCPServer, ...client.ClientOption) *client.Client, opts ...client.ClientOption) func(*testing.T, *registry.Registry, string) adaptertest.Agent {
	return func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
		c := &chain{
			first: r, last: registry.New(&registry.Options{Names: names.Names{Scheme: names.BareTool}}), urls: make(chan string, 1), approvals: make(chan string, 1), over: make(chan over, 1),
		}
		c.Agent = newChatAgent(t, c.last, url)
		s := server.NewMCPServer("belt", "1", server.WithToolCapabilities(true), server.WithToolFilter(belt.Filter(r, nil)))
		export := belt.NewExport(s, r, &belt.ExportOptions{Wait: true, Login: true})
		if rejected := export.Refresh(); rejected != nil {
			t.Fatal(rejected)
		}
		background(t, func(ctx context.Context) { _ = export.Watch(ctx) })
		capable := client.WithClientCapabilities(gomcp.ClientCapabilities{Elicitation: &gomcp.ElicitationCapability{URL: &struct{}{}}})
		source := belt.NewSource(connect(t, s, append(opts, capable, client.WithElicitationHandler(c))...), registry.Server{Name: "belt"}, c.last)
		background(t, func(ctx context.Context) { _ = source.Watch(ctx) })
		background(t, func(ctx context.Context) {
			seen := map[string]bool{}
			for waiting := range r.WatchApprovals(ctx) {
				for _, asks := range waiting {
					if !seen[asks.ID] {
						seen[asks.ID] = true
						c.approvals <- asks.ID
					}
				}
			}
		})
		return c
	}
}

// alone is why there are no two users: the kit's both have one registry.
var alone = map[string]string{"users": "a connection of mcp-go is of one user; each needs a client and a registry"}

func TestStreamableHTTP(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "mcpgo", Runtime: "StreamableHTTP", Framework: "github.com/mark3labs/mcp-go",
		Wire: adaptertest.OpenAIChat{}, Start: start(overHTTP), Interrupt: "`ExportOptions.Wait`; for a login, URL elicitation",
		Without: alone,
	})
}

// Revision 2025-11-25, with the initialize handshake.
func TestStdio(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "mcpgo", Runtime: "Stdio", Framework: "github.com/mark3labs/mcp-go",
		Wire: adaptertest.OpenAIChat{}, Start: start(overStdio, client.WithProtocolVersion("2025-11-25")), Interrupt: "`ExportOptions.Wait`; for a login, error -32042",
		Without: alone,
	})
}
