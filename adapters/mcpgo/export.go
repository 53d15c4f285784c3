package mcpgo

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"

	gomcp "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcpbelt/mcpbelt/registry"
)

// ExportOptions are the options of an [Export] and of [Filter]. Nil and the zero value
// mean the defaults.
type ExportOptions struct {
	// Keep leaves out the tools for which it returns false; they cannot be called,
	// either. It is asked at each call, too, by many goroutines at once. Nil: all.
	Keep func(*registry.Definition) bool
	// Context returns a context for the user of a request, such as by
	// session.WithUser; mcp-go has put what it knows into the one that it gets. Nil:
	// all requests are of the same user.
	Context func(context.Context) context.Context
	// Wait has a call that needs an approval wait until a person has answered. When the
	// client does not wait any longer, the call is refused. Default: the model is told
	// that the user was asked.
	Wait bool
	// Login tells a client that can show it to its user where to log in, by the
	// protocol's elicitation of a URL. Default: the model is told that the user has to
	// log in, and not where. Set it if the person who is asked is the user of the
	// call: the person who logs in there gives the registry their rights.
	Login bool
}

func (o *ExportOptions) keeps(t registry.Tool) bool {
	return o.Keep == nil || o.Keep(t.Definition())
}

// An Export is the tools of a registry on a server of mcp-go. It is safe for concurrent
// use.
type Export struct {
	server   *server.MCPServer
	registry *registry.Registry
	opts     ExportOptions

	mu   sync.Mutex            // held while the tools of the server change
	ours map[string]gomcp.Tool // the tools that are there from us

	waitMu  sync.Mutex
	waiting map[string]int // how many calls wait for an approval
}

// NewExport returns an Export of a registry to a server, on which there is nothing yet.
// Make the server with server.WithToolCapabilities(true), so that it tells its clients of
// changes.
func NewExport(s *server.MCPServer, r *registry.Registry, opts *ExportOptions) *Export {
	e := &Export{server: s, registry: r, ours: map[string]gomcp.Tool{}, waiting: map[string]int{}}
	if opts != nil {
		e.opts = *opts
	}
	return e
}

// Refresh makes the tools of the registry those of the server, and returns the ones that
// the server does not take: another tool of the server has the name, or mcp-go does not
// like the schema. Its own tools stay as they are.
func (e *Export) Refresh() []registry.Rejection {
	e.mu.Lock()
	defer e.mu.Unlock()
	var added []server.ServerTool
	var rejected []registry.Rejection
	listed := map[string]gomcp.Tool{}
	for _, t := range e.registry.Snapshot().Tools() {
		if !e.opts.keeps(t) {
			continue
		}
		def := t.Definition()
		now := toolTo(def)
		before, known := e.ours[def.Name]
		switch {
		case known && reflect.DeepEqual(before, now):
			listed[def.Name] = now
		case !known && e.server.GetTool(def.Name) != nil:
			rejected = append(rejected, registry.Rejection{Name: def.Name, Err: fmt.Errorf("mcpgo: the server has another tool %q", def.Name)})
		default:
			listed[def.Name] = now
			added = append(added, server.ServerTool{Tool: now, Handler: e.handler(def.Name)})
		}
	}
	var gone []string
	for name := range e.ours {
		if _, ok := listed[name]; !ok {
			gone = append(gone, name)
		}
	}
	if len(gone) > 0 {
		slices.Sort(gone)
		e.server.DeleteTools(gone...)
	}
	for _, r := range e.add(added) {
		delete(listed, r.Name)
		rejected = append(rejected, r)
	}
	e.ours = listed
	return rejected
}

// add adds tools in one step, or, if mcp-go does not take one of them, one by one.
func (e *Export) add(tools []server.ServerTool) []registry.Rejection {
	if len(tools) == 0 || e.try(tools...) == nil {
		return nil
	}
	var rejected []registry.Rejection
	for _, t := range tools {
		if err := e.try(t); err != nil {
			e.server.DeleteTools(t.Tool.Name) // what it was before
			rejected = append(rejected, registry.Rejection{Name: t.Tool.Name, Err: err})
		}
	}
	return rejected
}

// try adds tools. The server panics at what it does not take.
func (e *Export) try(tools ...server.ServerTool) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("mcpgo: the server does not take the tool: %v", v)
		}
	}()
	e.server.AddTools(tools...)
	return nil
}

// Watch refreshes the tools at once, and after each change of the registry, until ctx
// ends, whose error it returns. The server tells its clients.
func (e *Export) Watch(ctx context.Context) error {
	for range e.registry.Watch(ctx) {
		e.Refresh()
	}
	return context.Cause(ctx)
}

// toolTo returns a tool as mcp-go lists it: the schemas byte by byte.
func toolTo(def *registry.Definition) gomcp.Tool {
	t := gomcp.Tool{
		Name: def.Name, Title: def.Title, Description: def.Description,
		RawInputSchema: def.InputSchema, RawOutputSchema: def.OutputSchema,
	}
	raw := def.RawAnnotations
	if raw == nil && def.Annotations != nil {
		raw, _ = json.Marshal(def.Annotations) // has no values without JSON
	}
	if raw != nil && json.Unmarshal(raw, &t.Annotations) != nil {
		t.Annotations = gomcp.ToolAnnotation{}
	}
	return t
}

// Filter returns a filter for server.WithToolFilter: of the tools of a registry, a user
// sees and calls those that its policy does not deny to them, see
// [registry.Registry.Callable]. All other tools of the server pass. Give it the options
// of the Export.
func Filter(r *registry.Registry, opts *ExportOptions) server.ToolFilterFunc {
	var o ExportOptions
	if opts != nil {
		o = *opts
	}
	return func(ctx context.Context, tools []gomcp.Tool) []gomcp.Tool {
		if o.Context != nil {
			ctx = o.Context(ctx)
		}
		denied := map[string]bool{}
		for _, t := range r.Snapshot().Tools() {
			if o.keeps(t) {
				denied[t.Definition().Name] = true
			}
		}
		for _, t := range r.Callable(ctx) {
			delete(denied, t.Definition().Name)
		}
		return slices.DeleteFunc(slices.Clone(tools), func(t gomcp.Tool) bool { return denied[t.Name] })
	}
}
