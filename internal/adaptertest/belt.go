package adaptertest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/transport"
)

// png returns the image that the tool picture returns: one pixel.
func png() []byte {
	data, _ := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	return data
}

// longName is the name of a tool that no provider takes.
const longName = "list_" + "every_thing_every_thing_every_thing_every_thing_every_thing_" +
	"every_thing_every_thing_every_thing_every_thing_every_thing_" + "now"

// planSchema is one whose parts the converters of frameworks drop, or fail for: unions with
// null, values without a type, and a required name that is none of a property.
const planSchema = `{"type":"object",
	"properties":{
		"when":{"anyOf":[{"type":"string","format":"date"},{"type":"integer"}],"description":"a day, or a number of days"},
		"owner":{"$ref":"#/$defs/person"},
		"note":{"type":["string","null"]},
		"marks":{"type":["array","null"],"items":{"type":["integer","null"]}},
		"mode":{"enum":["fast","slow"]},
		"free":{},
		"parent":{"anyOf":[{"$ref":"#/$defs/person"},{"type":"null"}]}},
	"required":["when","owner","gone"],
	"$defs":{"person":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}`

// A belt is the registry of one check: the tools of the server crew and native ones.
type belt struct {
	registry *registry.Registry
	server   *sdk.Server
	client   *mcp.Client

	mu       sync.Mutex
	ran      map[string][]string // arguments of the calls that ran, by tool
	ids      []string            // of the calls, as the registry knows them
	mended   []string            // what of the calls was, in order
	loggedIn bool
	login    chan struct{} // closed when the user has logged in
	began    chan struct{} // gets a value when wait runs
	ended    chan struct{} // gets a value when the context of wait has ended
	met      int
	meeting  chan struct{} // closed when two are there
}

func newBelt(t *testing.T) *belt {
	t.Helper()
	b := &belt{
		ran: map[string][]string{}, login: make(chan struct{}),
		began: make(chan struct{}, 8), ended: make(chan struct{}, 8), meeting: make(chan struct{}),
	}
	policy, err := policy.New(approval.Allow,
		policy.Rule{Verdict: approval.Ask, Server: "crew", Tool: "danger"},
		policy.Rule{Verdict: approval.Deny, Server: "crew", Tool: "private", User: "ben"})
	assert.OK(t, err)
	b.registry = registry.New(&registry.Options{Approver: policy})
	b.registry.Observe(func(_ context.Context, o *registry.Observation) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ids, b.mended = append(b.ids, o.CallID), append(b.mended, o.Mended...)
	})
	b.server = sdk.NewServer(&sdk.Implementation{Name: "crew", Version: "1"}, nil)
	b.addRemote()
	b.client = mcp.NewClient("crew", &transport.Pipe{Serve: b.server.Run}, nil)
	t.Cleanup(func() { _ = b.client.Close() })
	b.refresh(t)
	panics := registry.MustFunc("panics", "does panic", func(context.Context, struct{}) (string, error) { panic("secret 4711") })
	assert.OK(t, b.registry.Add(locked{b}, panics))
	return b
}

// refresh lists the server's tools in the registry, as a host does.
func (b *belt) refresh(t *testing.T) {
	t.Helper()
	listed, err := b.client.Tools(t.Context())
	assert.OK(t, err)
	var tools []registry.Tool
	for _, tool := range listed {
		tools = append(tools, registry.Remote("crew", tool, b.client.CallTool))
	}
	assert.Value(b.registry.Replace(registry.Server{Name: "crew"}, tools))(t)
}

// remote adds a tool to the server. Its description is "does " and what.
func (b *belt) remote(name, what, schema string, result func(ctx context.Context) *sdk.CallToolResult) {
	b.server.AddTool(&sdk.Tool{Name: name, Description: "does " + what, InputSchema: json.RawMessage(schema)},
		func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			b.note(what, string(req.Params.Arguments))
			return result(ctx), nil
		})
}

func (b *belt) note(what, args string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ran[what] = append(b.ran[what], args)
}

// calls returns the arguments of the calls of a tool that ran.
func (b *belt) calls(what string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.ran[what]...)
}

// callIDs returns the ids of the calls that are over, sorted.
func (b *belt) callIDs() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(slices.Values(b.ids))
}

// loginURL is where the tool locked wants a login.
const loginURL = "https://login.example/begin"

const noArguments = `{"type":"object","properties":{}}`

func (b *belt) addRemote() {
	always := func(res *sdk.CallToolResult) func(context.Context) *sdk.CallToolResult {
		return func(context.Context) *sdk.CallToolResult { is := *res; return &is } // the SDK writes to it
	}
	content := func(blocks ...sdk.Content) *sdk.CallToolResult { return &sdk.CallToolResult{Content: blocks} }
	b.remote("echo", "echo", `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, always(content(&sdk.TextContent{Text: "echoed"})))
	b.remote("picture", "picture", noArguments, always(content(&sdk.TextContent{Text: "a picture:"}, &sdk.ImageContent{MIMEType: "image/png", Data: png()})))
	b.remote("bare_picture", "bare picture", noArguments, always(content(&sdk.ImageContent{MIMEType: "image/jpg", Data: png()})))
	b.remote("fake_picture", "fake picture", noArguments, always(content(&sdk.ImageContent{MIMEType: "image/png", Data: []byte("no image")})))
	b.remote("sound", "sound", noArguments, always(content(&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFF0000WAVE")})))
	b.remote("link", "link", noArguments, always(content(&sdk.ResourceLink{URI: "file:///plan.txt", Name: "plan"})))
	b.remote("nothing", "nothing", noArguments, always(content()))
	b.remote("blank", "blank", noArguments, always(content(&sdk.TextContent{Text: ""})))
	b.remote("structure", "structure", noArguments, always(&sdk.CallToolResult{StructuredContent: json.RawMessage(`{"answer":42}`), Content: []sdk.Content{}}))
	b.remote("broken", "failure", noArguments, always(&sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "the disk is full"}}}))
	b.remote(longName, "a long list", noArguments, always(content(&sdk.TextContent{Text: "all of it"})))
	b.remote("plan", "plan", planSchema, always(content(&sdk.TextContent{Text: "planned"})))
	b.remote("private", "private", noArguments, always(content(&sdk.TextContent{Text: "of ada alone"})))
	b.server.AddTool(&sdk.Tool{Name: "poll", Description: "does poll", InputSchema: json.RawMessage(noArguments), Meta: sdk.Meta{"ui": map[string]any{"visibility": []string{"app"}}}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return content(&sdk.TextContent{Text: "polled"}), nil
		}) // for apps, not for models
	b.remote("danger", "danger", `{"type":"object","properties":{"what":{"type":"string"}}}`, always(content(&sdk.TextContent{Text: "it is done"})))
	b.remote("meet", "meeting", `{"type":"object","properties":{"who":{"type":"string"}}}`, func(ctx context.Context) *sdk.CallToolResult {
		b.mu.Lock()
		if b.met++; b.met == 2 {
			close(b.meeting)
		}
		b.mu.Unlock()
		select {
		case <-b.meeting:
			return content(&sdk.TextContent{Text: "met"})
		case <-ctx.Done():
			return content(&sdk.TextContent{Text: "alone"})
		}
	})
	b.remote("wait", "wait", noArguments, func(ctx context.Context) *sdk.CallToolResult {
		b.began <- struct{}{}
		<-ctx.Done()
		b.ended <- struct{}{}
		return content(&sdk.TextContent{Text: "waited"})
	})
}

// asked returns what waits under an id, for the user of ctx; nil if nothing does.
func (b *belt) asked(ctx context.Context, id string) *registry.ApprovalRequest {
	for _, r := range b.registry.Approvals(ctx) {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// addLate adds a tool to the server that was not there before.
func (b *belt) addLate(t *testing.T) {
	t.Helper()
	b.remote("late", "lateness", noArguments, func(context.Context) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "better late"}}}
	})
	b.refresh(t)
}

// A locked tool needs a login first.
type locked struct{ belt *belt }

func (l locked) Definition() *registry.Definition {
	return &registry.Definition{Name: "locked", Description: "does lock", InputSchema: json.RawMessage(noArguments)}
}

func (l locked) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	l.belt.mu.Lock()
	defer l.belt.mu.Unlock()
	if !l.belt.loggedIn {
		return nil, mcp.WithOutcome(&auth.LoginRequiredError{Server: "vault", URL: loginURL, Done: l.belt.login}, mcp.NotSent)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "unlocked"}}}, nil
}

// logIn is the user's login.
func (b *belt) logIn() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loggedIn = true
	close(b.login)
}
