package apps_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/apps"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const program = "http://program.example" // the origin of the page around apps

// A kit shows the apps of one server, which runs in this process.
type kit struct {
	*testing.T
	server   *sdk.Server
	registry *registry.Registry
	apps     *apps.Apps
	shown    chan *apps.Shown
	ctx      context.Context // of ada
}

// newKit returns a kit. The tool show has an app, whose page read returns.
func newKit(t *testing.T, ro *registry.Options, edit func(*apps.Options), read func() *sdk.ResourceContents) *kit {
	t.Helper()
	k := &kit{T: t, shown: make(chan *apps.Shown, 100), ctx: session.WithUser(hosttest.Watchdog(t), "ada")}
	k.server = sdk.NewServer(&sdk.Implementation{Name: "clock", Version: "1"}, nil)
	k.tool("show", "", sdk.Meta{"ui/resourceUri": "ui://clock"}) // by the older key
	if read != nil {
		k.server.AddResource(&sdk.Resource{URI: "ui://clock", Name: "clock"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{read()}}, nil
		})
	}
	k.registry = registry.New(ro)
	opts := hosttest.InProcess(k.server)
	opts.Registry, opts.StateDir = k.registry, host.NoState
	apps.Prepare(opts)
	h := hosttest.Open(t, hosttest.Write(t, "clock", `{"command": "x"}`), opts)
	o := &apps.Options{SandboxURL: "https://sandbox.example/frames/", Show: func(_ context.Context, s *apps.Shown) { k.shown <- s }}
	if edit != nil {
		edit(o)
	}
	k.apps = assert.Value(apps.New(h, o))(t)
	t.Cleanup(k.apps.Close)
	return k
}

// tool adds a tool that answers with a text, or fails if that is empty.
func (k *kit) tool(name, text string, meta sdk.Meta) {
	k.server.AddTool(&sdk.Tool{Name: name, Meta: meta, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text + string(r.Params.Arguments)}}}, nil
	})
}

// call calls show for ada, and returns its app.
func (k *kit) call(args string) *apps.Shown {
	k.Helper()
	assert.Value(k.registry.Call(k.ctx, "clock__show", json.RawMessage(args)))(k.T)
	return <-k.shown
}

// post sends a request of ada's page, and returns its status and answer.
func (k *kit) post(path, body string, edits ...func(*http.Request)) (int, string) {
	r := httptest.NewRequestWithContext(k.ctx, "POST", program+path, strings.NewReader(body))
	r.Header.Set("Origin", program)
	for _, edit := range edits {
		edit(r)
	}
	w := httptest.NewRecorder()
	k.apps.Bridge().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// send sends a message of an app, and returns the answer.
func (k *kit) send(s *apps.Shown, method, params string) string {
	k.Helper()
	_, answer := k.post("/"+s.ID+"/message", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
	return answer
}
