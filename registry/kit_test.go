package registry_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/wildtest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/transport"
)

func TestMain(m *testing.M) {
	if wildtest.Begin() {
		return
	}
	goleak.VerifyTestMain(m)
}

// A plainTool is a Tool of which everything can be chosen.
type plainTool struct {
	def    *registry.Definition
	answer *mcp.CallToolResult
}

func (t *plainTool) Definition() *registry.Definition { return t.def }

func (t *plainTool) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return t.answer, nil
}

func textResult(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// servedText is textResult for a server.
func servedText(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

// textOf returns the text of a result that is one block of text.
func textOf(t testing.TB, res *mcp.CallToolResult) string {
	t.Helper()
	block, ok := assert.Only(t, res.Content).(*mcp.TextContent)
	if !ok {
		t.Fatalf("got content of type %T, want a text", res.Content[0])
	}
	return block.Text
}

// native returns a native tool that answers with its name.
func native(name string) *plainTool { return serverTool("", name, "") }

// serverTool returns a tool of a server, under the name that Remote would give
// it, that answers with its name and description.
func serverTool(server, name, description string) *plainTool {
	def := &registry.Definition{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)}
	if server != "" {
		def.Name = server + "__" + name
		def.Origin = registry.Origin{Server: server, Tool: name}
	}
	return &plainTool{def, textResult(def.Name + description)}
}

func listedNames(s *registry.Snapshot) []string {
	var names []string
	for _, t := range s.Tools() {
		names = append(names, t.Definition().Name)
	}
	return names
}

func mustAdd(t testing.TB, r *registry.Registry, tools ...registry.Tool) {
	t.Helper()
	assert.OK(t, r.Add(tools...))
}

func mustReplace(t testing.TB, r *registry.Registry, server string, tools ...registry.Tool) registry.Diff {
	t.Helper()
	return assert.Value(r.Replace(registry.Server{Name: server}, tools))(t)
}

// newRegistry returns a registry with native tools.
func newRegistry(t testing.TB, tools ...registry.Tool) *registry.Registry {
	t.Helper()
	r := registry.New(nil)
	mustAdd(t, r, tools...)
	return r
}

// newLedgerRegistry returns a registry and its ledger, which is in memory.
func newLedgerRegistry() (*registry.Registry, *ledger.Ledger) {
	l := ledger.New(nil)
	return registry.New(&registry.Options{Ledger: l}), l
}

func ptr[T any](v T) *T { return &v }

// A recordedTool is a Tool that calls a function.
type recordedTool struct {
	def  *registry.Definition
	call func(context.Context, json.RawMessage) (*mcp.CallToolResult, error)
}

func (t *recordedTool) Definition() *registry.Definition { return t.def }

func (t *recordedTool) Call(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	return t.call(ctx, args)
}

// failing returns a tool that fails with an error.
func failing(tool *plainTool, err error) registry.Tool {
	return &recordedTool{tool.def, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return nil, err }}
}

// spying returns a tool that notes its arguments and leaves the rest to another one.
func spying(tool registry.Tool, seen *string) registry.Tool {
	return &recordedTool{tool.Definition(), func(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
		*seen = string(args)
		return tool.Call(ctx, args)
	}}
}

// around returns middleware.
func around(do func(context.Context, *registry.Call, registry.Handler) (*mcp.CallToolResult, error)) registry.Middleware {
	return func(next registry.Handler) registry.Handler {
		return func(ctx context.Context, call *registry.Call) (*mcp.CallToolResult, error) {
			return do(ctx, call, next)
		}
	}
}

// newClient returns a client without limits of time, which is closed at the end of the test.
func newClient(t testing.TB, name string, to mcp.Transport) *mcp.Client {
	c := mcp.NewClient(name, to, &mcp.ClientOptions{ConnectTimeout: time.Hour, IdleTimeout: -1, CallTimeout: -1})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// remotes returns the tools that a client lists, as those of a server.
func remotes(t testing.TB, server string, c *mcp.Client) []registry.Tool {
	t.Helper()
	var tools []registry.Tool
	for _, tool := range assert.Value(c.Tools(t.Context()))(t) {
		tools = append(tools, registry.Remote(server, tool, c.CallTool))
	}
	return tools
}

// An approvalServer is a registry whose calls an approver decides, with a real server that
// notes down what reaches it.
type approvalServer struct {
	*registry.Registry
	server *sdk.Server
	client *mcp.Client

	mu      sync.Mutex
	reached []string // the arguments of each call at the server, as they came
	decide  registry.ApproverFunc
	arrived chan struct{} // if not nil, gets a value for each call at the server, which then answers nothing
}

func newApprovalServer(t *testing.T, opts approval.Options) *approvalServer {
	t.Helper()
	w := &approvalServer{server: sdk.NewServer(&sdk.Implementation{Name: "files", Version: "1"}, nil)}
	for _, name := range []string{"delete", "move"} {
		w.server.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				w.mu.Lock()
				w.reached = append(w.reached, string(req.Params.Arguments))
				arrived := w.arrived
				w.mu.Unlock()
				if arrived != nil {
					arrived <- struct{}{}
					<-ctx.Done()
				}
				return servedText(req.Params.Name + " done"), nil
			})
	}
	w.Registry = registry.New(&registry.Options{
		Approvals: opts,
		Approver: registry.ApproverFunc(func(ctx context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
			w.mu.Lock()
			decide := w.decide
			w.mu.Unlock()
			return decide(ctx, req)
		}),
	})
	w.setVerdict(approval.Ask)
	w.connect(t)
	return w
}

// connect lists the server's tools, through a new client.
func (w *approvalServer) connect(t *testing.T) {
	t.Helper()
	w.client = newClient(t, "files", &transport.Pipe{Serve: w.server.Run})
	mustReplace(t, w.Registry, "files", remotes(t, "files", w.client)...)
}

// setApprover sets what the approver does.
func (w *approvalServer) setApprover(f registry.ApproverFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.decide = f
}

func (w *approvalServer) setVerdict(v approval.Verdict) {
	w.setApprover(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: v, Reason: "because"}, nil
	})
}

// mustAsk makes a call that has to be asked for, and returns what is asked.
func (w *approvalServer) mustAsk(t *testing.T, ctx context.Context, tool, args string) *registry.ApprovalRequest {
	t.Helper()
	return assert.As[*registry.ApprovalRequiredError](t, assert.Err(w.Call(ctx, tool, json.RawMessage(args))), "%s", tool).Request
}

// wantReached checks what reached the server.
func (w *approvalServer) wantReached(t *testing.T, want ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	assert.List(t, w.reached, want, "at the server")
}

// wantError returns the error that err is or wraps, of a call that was not sent.
func wantError[E error](t *testing.T, err error) E {
	t.Helper()
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "outcome of %v", err)
	return assert.As[E](t, err)
}

func inConversation(ctx context.Context, user, conversation string) context.Context {
	return registry.WithConversation(onbehalf.With(ctx, user), conversation)
}

func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// allowForConversation answers a call that waits with "for this conversation".
func (w *approvalServer) allowForConversation(t *testing.T, ctx context.Context, tool string) {
	t.Helper()
	assert.Value(w.Approve(t.Context(), w.mustAsk(t, ctx, tool, `{"for":"conversation"}`).ID, &registry.ApproveOptions{ForConversation: true}))(t)
}

// isAllowed reports whether a call is made without asking the user. If not, it
// leaves nothing that waits.
func (w *approvalServer) isAllowed(t *testing.T, ctx context.Context, tool string) bool {
	t.Helper()
	_, err := w.Call(ctx, tool, json.RawMessage(`{"is it":"free"}`))
	if err == nil {
		return true
	}
	assert.OK(t, w.Deny(t.Context(), wantError[*registry.ApprovalRequiredError](t, err).Request.ID, ""))
	return false
}

// A rawServer is a server whose list of tools is given as JSON, and which carries
// out every call, of tools that it lists or not.
type rawServer struct {
	*mcptest.Server
	client *mcp.Client
}

func newRawServer(t testing.TB, name string, tools ...string) *rawServer {
	t.Helper()
	s := &rawServer{Server: mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, `{"tools":{}}`), mcptest.Script{
		"tools/list": mcptest.Result(`{"tools":[` + strings.Join(tools, ",") + `]}`),
		"tools/call": mcptest.Result(`{"content":[{"type":"text","text":"done"}],"structuredContent":{"id":"1"}}`),
	})}
	s.client = newClient(t, name, s)
	return s
}

// offer lists the server's tools in the registry.
func (s *rawServer) offer(t testing.TB, r *registry.Registry, facts registry.Server) registry.Diff {
	t.Helper()
	return assert.Value(r.Replace(facts, remotes(t, facts.Name, s.client)))(t)
}

// calls returns how many calls have reached the server.
func (s *rawServer) calls() int { return len(s.Received("tools/call")) }

// newPinned returns a registry and its ledger, which is a file.
func newPinned(t testing.TB, path string) (*registry.Registry, *ledger.Ledger) {
	t.Helper()
	accepted := assert.Value(ledger.Open(path, nil))(t)
	return registry.New(&registry.Options{Ledger: accepted}), accepted
}

// lockFile returns a path for the file of a ledger.
func lockFile(t testing.TB) string { return filepath.Join(t.TempDir(), "mcp.lock.json") }

// remoteTools returns the tools of a server that answers each call with its own
// name and that of the tool, as it was called.
func remoteTools(t *testing.T, server string, called ...string) []registry.Tool {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "all are called the same", Version: "1"}, nil)
	for _, name := range called {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return servedText(server + " " + req.Params.Name), nil
		})
	}
	return remotes(t, server, newClient(t, server, &transport.Pipe{Serve: s.Run}))
}

func describe(t testing.TB, tool registry.Tool, edit func(*registry.Definition)) registry.Tool {
	t.Helper()
	return assert.Value(registry.With(tool, edit))(t)
}

func mustPolicy(t testing.TB, byDefault approval.Verdict, rules ...policy.Rule) *policy.Policy {
	t.Helper()
	return assert.Value(policy.New(byDefault, rules...))(t)
}
