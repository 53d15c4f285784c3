// Tests of content.go and subscribe.go: resources, prompts and completion, and changes of resources.

package gateway_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// Everything that a server offers is there for clients of both families, over HTTP and stdio.
func TestEverythingPasses(t *testing.T) {
	server := newSDKServer()
	addTool(server, "count", func(ctx context.Context, r *sdk.CallToolRequest, _ anyInput) string {
		for i := range 3 {
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3})
		}
		return "counted"
	})
	addNote(server, "test://note")
	server.AddResourceTemplate(&sdk.ResourceTemplate{Name: "any", URITemplate: "test://any/{x}"}, readNote)
	addPrompt(server)
	s := openServer(t, nil, server)
	for path, prefix := range map[string]string{"/mcp": "belt__", "/mcp/": "belt__", "/s/belt/mcp": ""} {
		for _, revision := range append([]string{"2024-11-05", "2025-03-26", "2025-06-18"}, both...) {
			checkEverything(t, s.newUser(t, path, "", revision, nil), prefix)
			if path == "/mcp/" { // stdio has no URL
				continue
			}
			c := mcp.NewClient("belt", &pipeTransport{s.gateway, path}, &mcp.ClientOptions{ProtocolVersion: revision})
			checkEverything(t, c, prefix)
			_ = c.Close()
		}
	}
}

// checkEverything uses all that the server of TestEverythingPasses offers.
func checkEverything(t *testing.T, c *mcp.Client, prefix string) {
	t.Helper()
	ctx := hosttest.Watchdog(t)
	steps := 0
	res := assert.Value(c.CallTool(ctx, prefix+"count", nil, &mcp.RequestOptions{Progress: func(*mcp.ProgressParams) { steps++ }}))(t)
	assert.Equal(t, res.Text(), "counted")
	assert.Equal(t, steps, 3, "notifications of progress")
	var uris []string
	for r, err := range c.Resources(ctx) {
		assert.OK(t, err)
		uris = append(uris, r.URI)
	}
	for r, err := range c.ResourceTemplates(ctx) {
		assert.OK(t, err)
		uris = append(uris, strings.Replace(r.URITemplate, "{x}", "1", 1))
	}
	assert.Equal(t, len(uris), 2, "resources")
	for _, uri := range uris {
		got := assert.Value(c.ReadResource(ctx, uri, nil))(t).Contents[0]
		assert.Equal(t, got.URI+" "+got.Text, uri+" a note")
	}
	assert.Is(t, assert.Err(c.ReadResource(ctx, "test://missing", nil)), mcp.ErrResourceNotFound)
	prompt := assert.Value(c.GetPrompt(ctx, prefix+"greet", map[string]string{"who": "Ada"}, nil))(t)
	assert.Equal(t, prompt.Messages[0].Content.(*mcp.TextContent).Text, "hello Ada")
	params := &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: prefix + "greet"}, Argument: mcp.CompleteArgument{Name: "who", Value: "A"}}
	assert.Equal(t, assert.Value(c.Complete(ctx, params, nil))(t).Completion.Values[0], "A!")
	assert.Fails(t, assert.Err(c.CallTool(ctx, "missing", nil, nil)), "a tool that is not there")
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

// A client reads a resource by the URI that its server has for it, as results of tools have it, if one server of the
// view has such a resource.
func TestReadByURI(t *testing.T) {
	s := openSite(t, &gateway.Options{Profiles: map[string]gateway.Profile{
		"one": {Servers: []string{"one"}}, "many": {Servers: []string{"one", "two"}},
	}}, "one", "two", "note")
	for _, c := range []struct {
		path, uri string
		want      string // the URI in the result, or the code and a part of the message of the error
	}{
		{"/p/one/mcp", "note://1", "note://1"},
		{"/p/one/mcp", "one://note://1", "one://note://1"},
		{"/p/one/mcp", "note://7", "note://7"}, // by a template
		{"/p/one/mcp", "note://1/2", "-32002"},
		{"/p/one/mcp", "one://1", "-32602"}, // says the server
		{"/p/one/mcp", "1", "-32002"},
		{"/p/one/mcp", "two://note://1", "-32002"},
		{"/p/many/mcp", "note://1", `-32602 several servers have this resource: read one of "mcpbelt:one/note://1", "mcpbelt:two/note://1"`},
		{"/p/many/mcp", "note://7", `-32602 several servers have this resource: read one of "mcpbelt:one/note://7", "mcpbelt:two/note://7"`},
		{"/s/one/mcp", "note://1", "note://1"},
		{"/mcp", "note://1", `-32602 several servers`}, // though a server has the name of the scheme
		{"/mcp", "note://note://1", "note://note://1"},
	} {
		m := s.connect(t, &client{path: c.path}).do(t, "resources/read", fmt.Sprintf(`"uri":%q`, c.uri))
		if m.Error != nil {
			assert.Contains(t, fmt.Sprint(m.Error.Code, " ", m.Error.Message), c.want, "%s in %s", c.uri, c.path)
		} else {
			assert.Contains(t, m.at("contents"), fmt.Sprintf(`"uri":%q`, c.want), "%s in %s", c.uri, c.path)
		}
	}
}

// A client that follows a resource by its server's URI hears of changes under that URI.
func TestFollowByURI(t *testing.T) {
	//report: Gateway | IBM/mcp-context-forge#4303, IBM/mcp-context-forge#5345 | a gateway does not pass subscriptions on, or tells of a change under a name that the client does not know | the client hears of each change once, by the address under which it subscribed
	server := newSDKServer()
	addNote(server, "test://note")
	s := openServer(t, nil, server)
	for _, revision := range both {
		for _, uri := range []string{"test://note", "belt://test://note", "mcpbelt:belt/test://note"} {
			ctx, cancel := context.WithCancel(hosttest.Watchdog(t))
			updates := 0
			for changed, err := range s.newUser(t, "/mcp", "", revision, nil).ResourceUpdates(ctx, uri) {
				assert.OK(t, err)
				assert.Equal(t, changed, uri, "%s: a change of", revision)
				if updates++; updates == 2 {
					break
				}
				assert.OK(t, server.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: "test://note"}))
			}
			cancel()
		}
	}
	for _, err := range s.newUser(t, "/mcp", "", both[0], nil).ResourceUpdates(hosttest.Watchdog(t), "test://other") {
		assert.Fails(t, err, "a resource that is not there")
		break
	}
}
