package mcpgo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	gomcp "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// handler returns what the server calls for a tool.
func (e *Export) handler(name string) server.ToolHandlerFunc {
	return func(ctx context.Context, request gomcp.CallToolRequest) (*gomcp.CallToolResult, error) {
		args, err := argumentsOf(&request)
		if err != nil {
			return nil, err
		}
		user := ctx
		if e.opts.Context != nil {
			user = e.opts.Context(ctx)
		}
		user = withProgress(user, &request)
		res, err := e.call(user, name, args)
		if login := loginOf(err); login != "" && e.opts.Login && takesURLs(ctx) {
			if !server.IsModernRequest(ctx) {
				return nil, gomcp.URLElicitationRequiredError{Elicitations: []gomcp.ElicitationParams{visit(name, login)}}
			}
			answer := server.ElicitationResponse(request.Params.InputResponses, loginKey)
			if answer == nil {
				return server.NewInputRequestBuilder("").Elicit(loginKey, visit(name, login)).ToolResult(), nil
			}
			if answer.Action == gomcp.ElicitationResponseActionAccept {
				res, err = e.afterLogin(user, name, args, err)
			}
		}
		if err != nil {
			res = registry.ErrorResult(err)
		}
		return resultTo(res), nil
	}
}

// loginKey names what the client is asked for.
const loginKey = "login"

// call makes a call, and waits for its approval if that is wanted.
func (e *Export) call(ctx context.Context, name string, args json.RawMessage) (*mcp.CallToolResult, error) {
	// The name may be that of another tool since the last Refresh.
	if t, ok := e.registry.Snapshot().Lookup(name); ok && !e.opts.keeps(t) {
		return nil, &registry.UnknownToolError{Name: name}
	}
	res, err := e.registry.Call(ctx, name, args)
	var asks *registry.ApprovalRequiredError
	if !e.opts.Wait || !errors.As(err, &asks) {
		return res, err
	}
	return e.await(ctx, asks.Request.ID)
}

// await waits for an approval. When its context ends it is refused: the result would
// reach no client, and the client may make the call anew. Equal calls have one approval.
func (e *Export) await(ctx context.Context, id string) (*mcp.CallToolResult, error) {
	e.waitMu.Lock()
	e.waiting[id]++
	e.waitMu.Unlock()
	res, err := e.registry.Await(ctx, id)
	e.waitMu.Lock()
	defer e.waitMu.Unlock()
	if e.waiting[id]--; e.waiting[id] > 0 {
		return res, err
	}
	delete(e.waiting, id)
	if ctx.Err() != nil {
		_ = e.registry.Deny(context.WithoutCancel(ctx), id, "the client has gone") // unless it is over
	}
	return res, err
}

// afterLogin makes a call again that failed for want of a login, when the user has
// logged in. That they have opened the page does not say so.
func (e *Export) afterLogin(ctx context.Context, name string, args json.RawMessage, cause error) (*mcp.CallToolResult, error) {
	var tells interface{ LoggedIn() <-chan struct{} }
	if errors.As(cause, &tells) && tells.LoggedIn() != nil {
		select {
		case <-tells.LoggedIn():
		case <-ctx.Done():
			return nil, cause
		}
	}
	return e.call(ctx, name, args)
}

// argumentsOf returns the arguments as the client has written them.
func argumentsOf(request *gomcp.CallToolRequest) (json.RawMessage, error) {
	if len(request.Params.RawArguments) > 0 {
		return request.Params.RawArguments, nil
	}
	if request.Params.Arguments == nil {
		return nil, nil
	}
	return json.Marshal(request.Params.Arguments)
}

// withProgress has the client told of the progress of a call if it wants to know.
func withProgress(ctx context.Context, request *gomcp.CallToolRequest) context.Context {
	s := server.ServerFromContext(ctx)
	if s == nil || request.Params.Meta == nil || request.Params.Meta.ProgressToken == nil {
		return ctx
	}
	token := request.Params.Meta.ProgressToken
	return registry.WithProgress(ctx, func(p *mcp.ProgressParams) {
		params := map[string]any{"progressToken": token, "progress": p.Progress}
		if p.Total != 0 {
			params["total"] = p.Total
		}
		if p.Message != "" {
			params["message"] = p.Message
		}
		_ = s.SendNotificationToClient(ctx, "notifications/progress", params) // a client that is gone wants none
	})
}

// loginOf returns where the user has to log in before a call can be made; empty: nowhere,
// or it is not known.
func loginOf(err error) string {
	var login interface{ LoginURL() string }
	if mcp.OutcomeOf(err) != mcp.NotSent || !errors.As(err, &login) {
		return ""
	}
	return login.LoginURL()
}

// takesURLs reports whether the client of a request can show a page to its user.
func takesURLs(ctx context.Context) bool {
	var can *gomcp.ElicitationCapability
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		if info.ClientCapabilities != nil {
			can = info.ClientCapabilities.Elicitation
		}
	} else if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		can = s.GetClientCapabilities().Elicitation
	}
	return can != nil && can.URL != nil
}

// visit says which page the user shall visit.
func visit(tool, url string) gomcp.ElicitationParams {
	return gomcp.ElicitationParams{
		Mode: gomcp.ElicitationModeURL, Message: fmt.Sprintf("The tool %q needs you to log in.", tool),
		ElicitationID: rand.Text(), URL: url,
	}
}
