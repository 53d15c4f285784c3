package content_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A contents is what servers have besides tools, by the name of the server. A nil
// function is a server that accepts connections and never answers.
type contents map[string]func(*sdk.Server)

// openContents runs a host with these servers, in this process. Members are further
// members of their entries.
func openContents(t *testing.T, s contents, members map[string]string, names ...string) *host.Host {
	t.Helper()
	var entries []string
	for _, name := range names {
		entry := `{"command": "x"`
		if more := members[name]; more != "" {
			entry += ", " + more
		}
		entries = append(entries, name, entry+"}")
	}
	path, opts := write(t, entries...), contentsOptions(s)
	if !strings.Contains(fmt.Sprint(members), "lazy") {
		return open(t, path, opts)
	}
	// Lazy servers rest if what they have is known from an earlier time.
	opts.StateDir = t.TempDir()
	h := open(t, path, opts)
	for _, name := range names {
		if strings.Contains(members[name], "lazy") {
			until(t, h, name, "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
		}
	}
	assert.OK(t, h.Close())
	return open(t, path, opts)
}

func contentsOptions(s contents) *host.Options {
	return &host.Options{StateDir: host.NoState, Transport: func(_ session.Key, e *config.Server) (mcp.Transport, error) {
		fill, ok := s[e.Name]
		if !ok {
			return nil, fmt.Errorf("no server %q in the test", e.Name)
		}
		if fill == nil {
			return &transport.Pipe{Serve: func(ctx context.Context, _ sdk.Transport) error {
				<-ctx.Done()
				return ctx.Err()
			}}, nil
		}
		server := sdk.NewServer(&sdk.Implementation{Name: e.Name, Version: "1"}, &sdk.ServerOptions{
			SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
			UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
			CompletionHandler: func(_ context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
				known := ""
				if r.Params.Context != nil {
					known = fmt.Sprint(r.Params.Context.Arguments)
				}
				value := fmt.Sprintf("%s %s%s %s=%s %s", e.Name, r.Params.Ref.Name, r.Params.Ref.URI, r.Params.Argument.Name, r.Params.Argument.Value, known)
				return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{value}}}, nil
			},
		})
		fill(server)
		return &transport.Pipe{Serve: server.Run}, nil
	}}
}

// with puts several things on one server.
func with(fills ...func(*sdk.Server)) func(*sdk.Server) {
	return func(s *sdk.Server) {
		for _, fill := range fills {
			fill(s)
		}
	}
}

// resource is a resource whose text is its URI.
func resource(uri string) func(*sdk.Server) {
	return func(s *sdk.Server) { s.AddResource(&sdk.Resource{URI: uri, Name: "r"}, read) }
}

func read(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "it is " + r.Params.URI}}}, nil
}

func template(uri string) func(*sdk.Server) {
	return func(s *sdk.Server) {
		s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: uri, Name: "t"}, read)
	}
}

// prompt is a prompt whose text is the name and the argument "who".
func prompt(name string) func(*sdk.Server) {
	return func(s *sdk.Server) {
		s.AddPrompt(&sdk.Prompt{Name: name, Arguments: []*sdk.PromptArgument{{Name: "who"}}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			text := r.Params.Name + " for " + r.Params.Arguments["who"]
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}}, nil
		})
	}
}

func addresses(l *content.Listing[content.Resource]) string {
	var all []string
	for _, r := range l.Items {
		all = append(all, r.Address)
	}
	return strings.Join(all, " ")
}

// refuse has every prompt refuse its arguments.
func refuse(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if method == "prompts/get" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "who is missing"}
		}
		return next(ctx, method, r)
	}
}

var (
	open     = hosttest.Open
	status   = hosttest.Status
	until    = hosttest.Until
	watchdog = hosttest.Watchdog
	write    = hosttest.Write
)

func TestMain(m *testing.M) {
	if end := hosttest.Begin(nil); end != nil {
		goleak.VerifyTestMain(m, goleak.Cleanup(end))
	}
}
