package doctor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

const (
	// probeStderr is how much of the end of standard error a test keeps.
	probeStderr = 8 << 10
	// maxStrayLines is how many lines that are no messages a test keeps.
	maxStrayLines = 5
)

// A probe is one test of an entry, and what it has seen. Its connection may call it
// from several goroutines; when that has ended, none does.
type probe struct {
	host  *host.Host
	entry *config.Server
	begun time.Time

	mu   sync.Mutex // guards the following until the connection has ended
	seen sightings

	// The following belong to the goroutine that runs the test.
	web      bool              // the server is asked by HTTP, see webProbe
	owned    []*http.Transport // to be closed
	state    mcp.State         // last
	ready    mcp.State         // when it was ready
	tools    []*mcp.Tool
	filtered []*mcp.Tool
	preview  registry.Preview
	order    []string      // the names of all tools, as the server lists them
	took     time.Duration // until the success or the failure
}

// sightings are what a connection has shown.
type sightings struct {
	reached     map[string]bool
	err         error // the first
	stderr      []byte
	strayOutput []string
	answers     []webAnswer // of a remote server, one of each kind
	version     string      // of the protocol, as the server wants it
}

// reach notes that a stage was reached.
func (p *probe) reach(stage string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen.reached[stage] = true
}

// fail notes why the test failed. The first reason counts.
func (p *probe) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen.err = cmp.Or(p.seen.err, err)
}

func (p *probe) onStderr(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen.stderr = append(append(p.seen.stderr, line...), '\n')
	if over := len(p.seen.stderr) - probeStderr; over > 0 {
		// Whole lines, or half a secret would be left.
		over += bytes.IndexByte(p.seen.stderr[over:], '\n') + 1
		p.seen.stderr = append(p.seen.stderr[:0], p.seen.stderr[over:]...)
	}
}

func (p *probe) onStrayOutput(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.seen.strayOutput) < maxStrayLines {
		p.seen.strayOutput = append(p.seen.strayOutput, line)
	}
}

// heard looks at the result of a message of the server, which is nil if it has none.
func (p *probe) heard(result json.RawMessage) {
	if !p.web { // where failed requests are answered on this side
		p.reach(testConnected)
	}
	if jsonscan.Valid(result) != nil {
		return
	}
	if version, ok := jsonscan.String(jsonscan.Member(result, "protocolVersion")); ok {
		p.mu.Lock()
		p.seen.version = version
		p.mu.Unlock()
	}
}

// listed takes the tools, and asks the registry what would become of them.
func (p *probe) listed(client *mcp.Client, all []*mcp.Tool) {
	for _, t := range all {
		p.order = append(p.order, t.Name)
		if allows(p.entry.Tools, t.Name) {
			p.tools = append(p.tools, t)
		} else {
			p.filtered = append(p.filtered, t)
		}
	}
	facts := registry.Server{Name: p.entry.Name, Place: p.entry.Source.ProjectFolder(), Trusted: p.entry.Trust, Fingerprint: p.entry.Fingerprint()}
	preview, err := p.host.Registry().Preview(facts, registryTools(p.entry, client, p.tools))
	if err != nil {
		p.fail(err)
		return
	}
	preview.Rejected = append(preview.Rejected, host.UnreadableTools(p.entry, client.ListProblems())...)
	p.preview = preview
}

// allows reports whether the entry uses the tool of that name.
func allows(f config.ToolFilter, name string) bool {
	return (f.Allow == nil || slices.Contains(f.Allow, name)) && !slices.Contains(f.Deny, name)
}

// registryTools makes registry tools of what the server listed. They are never called.
func registryTools(e *config.Server, client *mcp.Client, listed []*mcp.Tool) []registry.Tool {
	tools := make([]registry.Tool, 0, len(listed))
	for _, t := range listed {
		tool := registry.Remote(e.Name, t, client.CallTool)
		if name, ok := e.Tools.Rename[t.Name]; ok {
			if renamed, err := registry.With(tool, func(d *registry.Definition) { d.Alias = name }); err == nil {
				tool = renamed
			}
		}
		tools = append(tools, tool)
	}
	return tools
}

// A probeTransport makes connections that tell the probe how far they come.
type probeTransport struct {
	inner mcp.Transport
	probe *probe
}

// Connect implements mcp.Transport.
func (t *probeTransport) Connect(ctx context.Context) (mcp.Conn, error) {
	conn, err := t.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &probeConn{mcp.CallerOf(conn), t.probe}
	if c.Info().PID != 0 {
		t.probe.reach(testSpawned)
	}
	return c, nil
}

// A probeConn lets the probe hear what the server sends.
type probeConn struct {
	mcp.Caller
	probe *probe
}

// Receive implements mcp.Caller.
func (c *probeConn) Receive(message func(jsonrpc.Message, int64), ended func(error)) {
	c.Caller.Receive(func(m jsonrpc.Message, call int64) {
		var result json.RawMessage
		if answer, ok := m.(*jsonrpc.Response); ok {
			result = answer.Result
		}
		c.probe.heard(result)
		message(m, call)
	}, ended)
}

// Call implements mcp.Caller.
func (c *probeConn) Call(ctx context.Context, method string, params json.RawMessage, opts *mcp.CallOptions) (json.RawMessage, error) {
	result, err := c.Caller.Call(ctx, method, params, opts)
	if mcp.OutcomeOf(err) == mcp.Answered {
		c.probe.heard(result)
	}
	return result, err
}
