// Package crew has the tools with which the recipes are tested.
package crew

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/policy"
)

// LoginURL is where the tool locked wants a login.
const LoginURL = "https://login.example/begin"

// LongName is the name of a tool that most providers do not take.
const LongName = "list_every_thing_every_thing_every_thing_every_thing_every_thing_now"

// A Crew is a registry with a tool for each thing that an adapter has to get right.
// All its tools are called what they do, and described with "does " and that.
type Crew struct {
	// Registry has the tools. The tool danger needs an approval.
	Registry *registry.Registry
	// Began gets a value when the tool wait runs, Ended when its context has ended.
	Began, Ended chan struct{}

	mu       sync.Mutex
	ran      map[string]int
	loggedIn bool
	login    chan struct{}
	met      int           // how often the tool meet has run
	meeting  chan struct{} // closed when two are there
}

// New returns a crew.
func New() (*Crew, error) {
	policy, err := policy.New(registry.Allow, policy.Rule{Verdict: registry.Ask, Tool: "danger"})
	if err != nil {
		return nil, err
	}
	c := &Crew{
		Registry: registry.New(&registry.Options{Approver: policy}),
		Began:    make(chan struct{}, 8), Ended: make(chan struct{}, 8),
		ran: map[string]int{}, login: make(chan struct{}), meeting: make(chan struct{}),
	}
	const none = `{"type":"object","properties":{}}`
	return c, c.Registry.Add(
		c.tool("echo", `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, func(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
			return text(string(args)), nil
		}),
		c.tool("meet", none, c.meet),
		c.tool("fail", none, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			res := text("the disk is full")
			res.IsError = true
			return res, nil
		}),
		c.tool("picture", none, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "look:"}, &mcp.ImageContent{MIMEType: "image/png", Data: Picture()}}}, nil
		}),
		c.tool("nothing", none, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return &mcp.CallToolResult{}, nil }),
		c.tool("danger", none, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return text("it is done"), nil }),
		c.tool("unlock", none, c.unlock),
		c.tool("wait", none, c.wait),
		c.tool("plan", planSchema, func(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
			return text(string(args)), nil
		}),
		c.tool(LongName, none, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return text("all of it"), nil }),
	)
}

const planSchema = `{"type":"object",
	"properties":{
		"when":{"anyOf":[{"type":"string","format":"date"},{"type":"integer"}],"description":"a day, or a number of days"},
		"owner":{"$ref":"#/$defs/person"},
		"note":{"type":["string","null"]},
		"parent":{"anyOf":[{"$ref":"#/$defs/person"},{"type":"null"}]}},
	"required":["when","owner"],
	"$defs":{"person":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}`

// Picture is a PNG of one pixel.
func Picture() []byte {
	data, _ := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	return data
}

// AddLate adds the tool late, which was not there before.
func (c *Crew) AddLate() error {
	return c.Registry.Add(c.tool("late", `{"type":"object","properties":{}}`, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return text("better late"), nil
	}))
}

// LogIn is the user's login.
func (c *Crew) LogIn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loggedIn = true
	close(c.login)
}

// Ran returns how often a tool has run.
func (c *Crew) Ran(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ran[name]
}

type handler = func(context.Context, json.RawMessage) (*mcp.CallToolResult, error)

type crewTool struct {
	crew    *Crew
	def     *registry.Definition
	handler handler
}

func (c *Crew) tool(name, schema string, h handler) registry.Tool {
	def := &registry.Definition{Name: name, Description: "does " + strings.ReplaceAll(name, "_", " "), InputSchema: json.RawMessage(schema)}
	return &crewTool{c, def, h}
}

func (t *crewTool) Definition() *registry.Definition { return t.def }

func (t *crewTool) Call(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	t.crew.mu.Lock()
	t.crew.ran[t.def.Name]++
	t.crew.mu.Unlock()
	return t.handler(ctx, args)
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// meet returns when two run at the same time.
func (c *Crew) meet(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
	c.mu.Lock()
	if c.met++; c.met == 2 {
		close(c.meeting)
	}
	c.mu.Unlock()
	select {
	case <-c.meeting:
		return text("met"), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *Crew) unlock(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.loggedIn {
		return nil, mcp.WithOutcome(&auth.LoginRequiredError{Server: "vault", URL: LoginURL, Done: c.login}, mcp.NotSent)
	}
	return text("unlocked"), nil
}

func (c *Crew) wait(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
	c.Began <- struct{}{}
	<-ctx.Done()
	c.Ended <- struct{}{}
	return nil, context.Cause(ctx)
}
