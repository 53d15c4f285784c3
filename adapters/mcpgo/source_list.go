package mcpgo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/client/transport"
	gomcp "github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// How long a list can be.
const (
	maxPages = 1000
	maxTools = 5000
)

var (
	errNotInitialized = errors.New("the client is not initialized; call its Initialize first")
	errSamePage       = errors.New("the cursor of the next page is that of one before")
	errNoName         = errors.New("the tool has no name")
)

// A listedTool is a tool as a server lists it.
type listedTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
}

// list returns the server's tools, and those that cannot be read.
func (s *Source) list(ctx context.Context) (tools []registry.Tool, rejected []registry.Rejection, err error) {
	if !s.client.IsInitialized() {
		return nil, nil, errNotInitialized
	}
	allowed, err := s.allowed(ctx)
	if err != nil {
		return nil, nil, err
	}
	tools = []registry.Tool{}
	err = pages(func(cursor string) (next string, listed int, err error) {
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := s.page(ctx, cursor, &page); err != nil {
			return "", 0, err
		}
		for _, raw := range page.Tools {
			t, err := s.tool(raw)
			switch {
			case err != nil:
				rejected = append(rejected, registry.Rejection{Err: fmt.Errorf("a tool of server %q cannot be read: %w", s.server.Name, err)})
			case allowed == nil || allowed[t.Definition().Origin.Tool]:
				tools = append(tools, t)
			}
		}
		return page.NextCursor, len(page.Tools), nil
	})
	return tools, rejected, err
}

// pages reads the pages of a list to its end, or to its limit.
func pages(read func(cursor string) (next string, listed int, err error)) error {
	seen := map[string]bool{}
	cursor, tools := "", 0
	for range maxPages {
		next, listed, err := read(cursor)
		if err != nil {
			return err
		}
		if tools += listed; tools > maxTools {
			return &mcp.LimitError{Limit: "tools of a server", Max: maxTools}
		}
		if next == "" {
			return nil
		}
		if seen[next] {
			return errSamePage
		}
		seen[next], cursor = true, next
	}
	return &mcp.LimitError{Limit: "pages of a list", Max: maxPages}
}

// allowed has the client list the tools where it needs that itself: on revision
// 2026-07-28 and HTTP it copies arguments into headers, and leaves out the tools that do
// not let it. It returns the names of the others; nil: all.
func (s *Source) allowed(ctx context.Context) (map[string]bool, error) {
	if _, ok := s.client.GetTransport().(transport.HTTPConnection); !ok || !gomcp.IsModernProtocol(s.client.ProtocolVersion()) {
		return nil, nil
	}
	names := map[string]bool{}
	err := pages(func(cursor string) (string, int, error) {
		var request gomcp.ListToolsRequest
		request.Params.Cursor = gomcp.Cursor(cursor)
		page, err := s.client.ListToolsByPage(ctx, request)
		if err != nil {
			return "", 0, err
		}
		for _, t := range page.Tools {
			names[t.Name] = true
		}
		return string(page.NextCursor), len(page.Tools), nil
	})
	return names, err
}

// page reads one page of the list as the server has written it. The client's own method
// would take the schemas apart, and not keep all of them.
func (s *Source) page(ctx context.Context, cursor string, into any) error {
	params := map[string]any{}
	if cursor != "" {
		params["cursor"] = cursor
	}
	request := transport.JSONRPCRequest{
		JSONRPC: gomcp.JSONRPC_VERSION, ID: gomcp.NewRequestId("mcpbelt-" + rand.Text()), Method: string(gomcp.MethodToolsList),
	}
	if version := s.client.ProtocolVersion(); gomcp.IsModernProtocol(version) {
		params["_meta"] = map[string]any{
			gomcp.MetaKeyProtocolVersion:    version,
			gomcp.MetaKeyClientCapabilities: s.client.GetClientCapabilities(),
		}
		request.Header = map[string][]string{}
		for name, value := range gomcp.StandardHeaders(version, gomcp.MethodToolsList, nil) {
			request.Header.Set(name, value)
		}
	}
	request.Params = params
	response, err := s.client.GetTransport().SendRequest(ctx, request)
	switch {
	case err != nil:
		return err
	case response.Error != nil:
		return response.Error.AsError()
	}
	return json.Unmarshal(response.Result, into)
}

// tool makes a tool of what a server lists.
func (s *Source) tool(raw json.RawMessage) (registry.Tool, error) {
	tool := new(mcp.Tool)
	if json.Unmarshal(raw, tool) == nil {
		return registry.Remote(s.server.Name, tool, s.call), nil
	}
	// Keep what can be used of a tool that is not quite as the protocol says.
	var t listedTool
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, err
	}
	if t.Name == "" {
		return nil, errNoName
	}
	tool = &mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema}
	usable := registry.Remote(s.server.Name, tool, s.call)
	if annotated, err := registry.With(usable, func(d *registry.Definition) { d.RawAnnotations = t.Annotations }); err == nil {
		usable = annotated
	}
	return usable, nil
}
