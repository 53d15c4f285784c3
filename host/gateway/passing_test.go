package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// both are a revision with sessions and the one without.
var both = []string{mcp.Revision20251125, mcp.Revision20260728}

// newBelt serves a gateway to one server in this process, under the name belt.
func newBelt(t *testing.T, o *gateway.Options, server *sdk.Server) (url string, g *gateway.Gateway, h *host.Host) {
	t.Helper()
	ho := hosttest.InProcess(server)
	ho.StateDir = host.NoState
	gateway.Prepare(ho)
	h = hosttest.Open(t, hosttest.Write(t, "belt", `{"command":"x"}`), hosttest.Patient(ho))
	url, g = serveGateway(t, h, o)
	return url, g, h
}

func newSDKServer() *sdk.Server {
	return sdk.NewServer(&sdk.Implementation{Name: "belt", Version: "1"}, &sdk.ServerOptions{
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(_ context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{r.Params.Argument.Value + "!"}}}, nil
		},
	})
}

type anyInput struct {
	Text string `json:"text,omitempty"`
}

func addTool(s *sdk.Server, name string, call func(context.Context, *sdk.CallToolRequest, anyInput) string) {
	sdk.AddTool(s, &sdk.Tool{Name: name}, func(ctx context.Context, r *sdk.CallToolRequest, in anyInput) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: call(ctx, r, in)}}}, nil, nil
	})
}

// A client that reads one page of a list sees all of it, and names that every client can use.
func TestListIsOnePage(t *testing.T) {
	server := newSDKServer()
	for i := range 2000 {
		addTool(server, fmt.Sprintf("tool_with_a_name_that_is_rather_long_for_its_number_%04d", i), nil)
	}
	url, _, _ := newBelt(t, nil, server)
	for _, revision := range both {
		c := newWebClient(t, url+"/mcp/direct", revision)
		var page struct {
			Tools []struct{ Name string }
			Next  string `json:"nextCursor"`
		}
		assert.OK(t, json.Unmarshal(c.send(t, "tools/list", "{}"), &page))
		if got, want := len(page.Tools), 2000; got != want || page.Next != "" {
			t.Errorf("%s: got %d tools and the cursor %q, want %d and none", revision, got, page.Next, want)
		}
		names := map[string]bool{}
		for _, tool := range page.Tools {
			if names[tool.Name] || len("mcp__belt__"+tool.Name) > 64 {
				t.Errorf("%s: the name %s is there twice or too long", revision, tool.Name)
			}
			names[tool.Name] = true
		}
	}
}

// A list above the cap has pages, whose cursors are good for the list that they were made for.
func TestPages(t *testing.T) {
	server := newSDKServer()
	for i := range 100 {
		addTool(server, fmt.Sprintf("tool%02d", i), nil)
	}
	url, _, h := newBelt(t, &gateway.Options{PageBytes: 1000}, server)
	c := newWebClient(t, url+"/mcp", mcp.Revision20251125)
	read := func() (names []string, cursors []string) {
		cursor := ""
		for range 100 {
			var page struct {
				Tools []struct{ Name string }
				Next  string `json:"nextCursor"`
			}
			params, _ := json.Marshal(map[string]string{"cursor": cursor})
			assert.OK(t, json.Unmarshal(c.send(t, "tools/list", string(params)), &page))
			for _, tool := range page.Tools {
				names = append(names, tool.Name)
			}
			if page.Next == "" {
				return names, cursors
			}
			cursor = page.Next
			cursors = append(cursors, cursor)
		}
		t.Fatal("the list has no end")
		return nil, nil
	}
	names, cursors := read()
	if got := len(names); got != 100 || len(cursors) < 2 {
		t.Fatalf("got %d names in %d pages, want 100 in several", got, len(cursors)+1)
	}
	server.RemoveTools("tool99")
	hosttest.Eventually(t, "the tool is gone", func() bool { return len(h.Registry().Snapshot().Tools()) == 99 })
	user := newUser(t, url+"/mcp", "", mcp.Revision20251125, nil)
	_, err := user.Request(t.Context(), "tools/list", json.RawMessage(fmt.Sprintf(`{"cursor":%q}`, cursors[0])), nil)
	var refused *mcp.ServerError
	if !errors.As(err, &refused) || refused.Err.Code != -32602 {
		t.Errorf("got %v, want the error -32602", err)
	}
}

// Everything that a server offers is there for clients of both families, over HTTP and stdio.
func TestEverythingPasses(t *testing.T) {
	server := newSDKServer()
	addTool(server, "count", func(ctx context.Context, r *sdk.CallToolRequest, _ anyInput) string {
		for i := range 3 {
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3})
		}
		return "counted"
	})
	server.AddResource(&sdk.Resource{Name: "note", URI: "test://note"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "test://note", Text: "noted"}}}, nil
	})
	server.AddResourceTemplate(&sdk.ResourceTemplate{Name: "any", URITemplate: "test://any/{x}"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "any"}}}, nil
	})
	server.AddPrompt(&sdk.Prompt{Name: "greet", Arguments: []*sdk.PromptArgument{{Name: "who"}}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "hello " + r.Params.Arguments["who"]}}}}, nil
	})
	url, g, _ := newBelt(t, nil, server)
	for _, path := range []string{"/mcp", "/mcp/", "/s/belt/mcp"} {
		for _, revision := range append([]string{"2024-11-05", "2025-03-26", "2025-06-18"}, both...) {
			for _, way := range []string{"http", "stdio"} {
				if way == "stdio" && path == "/mcp/" {
					continue
				}
				t.Run(way+path+" "+revision, func(t *testing.T) {
					ctx := hosttest.Watchdog(t)
					var c *mcp.Client
					if way == "http" {
						c = newUser(t, url+path, "", revision, nil)
					} else {
						c = mcp.NewClient("belt", &pipeTransport{g, path}, &mcp.ClientOptions{ProtocolVersion: revision})
						defer c.Close()
					}
					tool, prompt := "count", "greet"
					if path != "/s/belt/mcp" {
						tool, prompt = "belt__count", "belt__greet"
					}
					steps := 0
					res, err := c.CallTool(ctx, tool, nil, &mcp.CallToolOptions{Progress: func(*mcp.ProgressParams) { steps++ }})
					if err != nil || res.Text() != "counted" {
						t.Errorf("got %v, %v, want counted", res, err)
					}
					assert.Equal(t, steps, 3, "notifications of progress")
					for r, err := range c.Resources(ctx) {
						assert.OK(t, err)
						if read, err := c.ReadResource(ctx, r.URI, nil); err != nil || read.Contents[0].Text != "noted" || read.Contents[0].URI != r.URI {
							t.Errorf("got %v, %v, want noted at %s", read, err, r.URI)
						}
					}
					for r, err := range c.ResourceTemplates(ctx) {
						assert.OK(t, err)
						uri := strings.Replace(r.URITemplate, "{x}", "1", 1)
						if read, err := c.ReadResource(ctx, uri, nil); err != nil || read.Contents[0].Text != "any" {
							t.Errorf("got %v, %v, want any", read, err)
						}
					}
					if _, err := c.ReadResource(ctx, "test://missing", nil); !errors.Is(err, mcp.ErrResourceNotFound) {
						t.Errorf("got %v, want %v", err, mcp.ErrResourceNotFound)
					}
					got, err := c.GetPrompt(ctx, prompt, map[string]string{"who": "Ada"}, nil)
					if err != nil || got.Messages[0].Content.(*mcp.TextContent).Text != "hello Ada" {
						t.Errorf("got %v, %v, want hello Ada", got, err)
					}
					completed, err := c.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: prompt}, Argument: mcp.CompleteArgument{Name: "who", Value: "A"}}, nil)
					if err != nil || completed.Completion.Values[0] != "A!" {
						t.Errorf("got %v, %v, want A!", completed, err)
					}
					if _, err := c.CallTool(ctx, "missing", nil, nil); err == nil {
						t.Error("got no error from a tool that is not there, want one")
					}
				})
			}
		}
	}
}

// A pipeTransport connects to ServeStdio.
type pipeTransport struct {
	gateway *gateway.Gateway
	path    string
}

func (p *pipeTransport) Connect(ctx context.Context) (mcp.Conn, error) {
	fromClient, to := io.Pipe()
	from, toClient := io.Pipe()
	go func() {
		_ = p.gateway.ServeStdio(context.Background(), p.path, fromClient, toClient)
		_ = toClient.Close()
	}()
	return (&sdk.IOTransport{Reader: from, Writer: to}).Connect(ctx)
}
