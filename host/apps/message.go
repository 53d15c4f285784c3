package apps

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

// revision is the one of MCP Apps that is spoken.
const revision = "2026-01-26"

const (
	maxSaid = 64 << 10 // bytes of what an app says to the model
	maxURL  = 2 << 10  // bytes of a link, and of the URI of a resource
	maxLog  = 500      // bytes of what is logged of a log message
)

// Codes of errors that apps get.
const (
	codeRefused       = -32000
	codeUnknownMethod = -32601
	codeInvalidParams = -32602
)

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// request answers a request of an app.
func (a *Apps) request(ctx context.Context, s *Shown, m *jsonscan.Message) (result any, failed *rpcError) {
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	default:
		return nil, &rpcError{codeRefused, "too many requests at once: wait for the answers to others"}
	}
	switch m.Method {
	case "ui/initialize":
		return a.initialize(s), nil
	case "ping":
		return struct{}{}, nil
	case "tools/call":
		return a.callTool(ctx, s, m.Params)
	case "resources/read":
		return a.readResource(ctx, s, m.Params)
	case "ui/open-link":
		link, _ := jsonscan.String(jsonscan.Member(m.Params, "url"))
		if u, err := url.Parse(link); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || len(link) > maxURL {
			return nil, &rpcError{codeInvalidParams, "a link is an absolute URL of http or https"}
		}
		a.opts.Logger.Info("apps: an app opens a link", "server", s.Server, "tool", s.Tool, "url", plain.Cut(plain.Line(link), maxLog))
		return struct{}{}, nil
	case "ui/message":
		if role, _ := jsonscan.String(jsonscan.Member(m.Params, "role")); role != "user" && a.opts.Message != nil {
			return nil, &rpcError{codeInvalidParams, `the role of a message is "user"`}
		}
		return say(ctx, s, m, a.opts.Message)
	case "ui/update-model-context":
		return say(ctx, s, m, a.opts.ModelContext)
	}
	return nil, &rpcError{codeUnknownMethod, "the method is not known"}
}

// say hands what an app says to the model to the program.
func say(ctx context.Context, s *Shown, m *jsonscan.Message, to func(context.Context, *Shown, json.RawMessage) error) (any, *rpcError) {
	switch {
	case to == nil:
		return nil, &rpcError{codeUnknownMethod, "this program does not take it"}
	case len(m.Params) > maxSaid:
		return nil, &rpcError{codeInvalidParams, "it is longer than 64 KiB"}
	}
	if err := to(ctx, s, json.RawMessage(m.Params)); err != nil {
		return nil, &rpcError{codeRefused, "the program refuses it"}
	}
	return struct{}{}, nil
}

// initialize tells an app what it can do here. The page adds what it alone knows to the context.
func (a *Apps) initialize(s *Shown) any {
	can := map[string]any{"openLinks": struct{}{}, "serverTools": struct{}{}, "serverResources": struct{}{}, "logging": struct{}{}}
	content := map[string]any{"text": struct{}{}, "image": struct{}{}, "audio": struct{}{}, "resource": struct{}{}, "resourceLink": struct{}{}, "structuredContent": struct{}{}}
	if a.opts.Message != nil {
		can["message"] = content
	}
	if a.opts.ModelContext != nil {
		can["updateModelContext"] = content
	}
	a.mu.Lock()
	p := s.page
	a.mu.Unlock()
	if p != nil {
		granted, _ := p.granted(a.opts.Permissions)
		can["sandbox"] = map[string]any{"csp": cmp.Or(p.declared.CSP, new(policy)), "permissions": granted}
	}
	tool := s.def.Raw
	if tool == nil {
		tool, _ = json.Marshal(map[string]any{"name": s.Tool, "description": s.def.Description, "inputSchema": s.def.InputSchema}) // which is JSON
	}
	return map[string]any{
		"protocolVersion": revision, "hostInfo": map[string]any{"name": "mcpbelt", "version": "0"}, "hostCapabilities": can,
		"hostContext": map[string]any{"toolInfo": map[string]any{"tool": tool}},
	}
}

// callTool calls a tool of the app's server, and waits if a person has to approve it.
func (a *Apps) callTool(ctx context.Context, s *Shown, params []byte) (any, *rpcError) {
	name, _ := jsonscan.String(jsonscan.Member(params, "name"))
	r := a.host.Registry()
	called := ""
	for _, t := range r.Callable(ctx) {
		if def := t.Definition(); def.Origin.Server == s.Server && def.Origin.Tool == name && def.ForApps() {
			called = def.Name
		}
	}
	if called == "" {
		return nil, &rpcError{codeInvalidParams, "the server of this app has no tool of that name that apps may call"}
	}
	if token := jsonscan.Member(params, "_meta", "progressToken"); token != nil {
		ctx = registry.WithProgress(ctx, func(p *mcp.ProgressParams) {
			s.push("notifications/progress", map[string]any{"progressToken": json.RawMessage(token), "progress": p.Progress, "total": p.Total, "message": p.Message})
		})
	}
	res, err := r.Call(ctx, called, jsonscan.Member(params, "arguments"))
	if asks, ok := errors.AsType[*registry.ApprovalRequiredError](err); ok {
		res, err = r.Await(ctx, asks.Request.ID)
	}
	if err != nil {
		return nil, &rpcError{codeRefused, registry.ErrorResult(err).Text()}
	}
	raw, err := rawResult(res)
	if err != nil {
		return nil, &rpcError{codeRefused, "the result cannot be sent"}
	}
	return raw, nil
}

// readResource reads a resource of the app's server.
func (a *Apps) readResource(ctx context.Context, s *Shown, params []byte) (any, *rpcError) {
	uri, ok := jsonscan.String(jsonscan.Member(params, "uri"))
	if !ok || uri == "" || len(uri) > maxURL {
		return nil, &rpcError{codeInvalidParams, "a resource has a URI of at most 2 KiB"}
	}
	var raw json.RawMessage
	err := a.host.WithClient(ctx, session.Key{Server: s.Server}, func(ctx context.Context, c *mcp.Client) error {
		_, err := c.ReadResource(ctx, uri, &mcp.RequestOptions{Raw: &raw})
		return err
	})
	if err != nil {
		said := "the resource cannot be read"
		if refused, ok := errors.AsType[*mcp.ServerError](err); ok && refused.Err != nil {
			said += ": the server says: " + plain.Cut(plain.Quote(refused.Err.Message), maxLog)
		}
		return nil, &rpcError{codeRefused, said}
	}
	return raw, nil
}
