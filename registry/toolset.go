package registry

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// ToolsetOptions are the options of [Registry.Toolset]. Nil and the zero value mean
// the defaults.
type ToolsetOptions struct {
	// ContextWindow is how many tokens the model takes. Default: 200,000.
	ContextWindow int
	// Share is how much of that the definitions of tools may take before the model
	// has to search, from 0 to 1. Default: 0.05. Negative: it always has to.
	// 1 or more: never.
	Share float64
	// MaxTools is how many tools the model is told of before it has to search, unless
	// Share says never. Default: 128, which is what OpenAI takes in one request;
	// negative: no limit.
	MaxTools int
	// Always returns true for the tools that the model is told of even if it has to
	// search. It is a pure function. Hints are claims, see [Hints]. Nil: native
	// tools. Those with [Definition].ReturnDirect are there in any case.
	Always func(tool *Definition, hints Hints) bool
	// ProviderSearch says that the model searches by a tool of its provider, which
	// gets the deferred tools, too. Tools are deferred then even without
	// [Options].Search, and the registry's own tools for it are not among Tools.
	ProviderSearch bool
}

// A Toolset is what a model is told about the tools at one moment. Do not change it.
type Toolset struct {
	// Tools go with the request to the model, sorted by name.
	Tools []Tool
	// Deferred are the callable tools that are not among them, sorted by name. The
	// model finds them with search_tools, and calls them with call_tool, or both in
	// the way of its provider.
	Deferred []Tool
	// Searching says that the model has to search for the deferred tools.
	Searching bool
	// Tokens is how many tokens the definitions of Tools take.
	Tokens int
	// All is how many tokens the definitions of all callable tools would take.
	All int
	// Limit is how many they may take before the model has to search.
	Limit int
	// Servers says what each server takes of All, the largest first. The native
	// tools are those of the server without a name.
	Servers []ServerTokens
}

// ServerTokens is what the tools of one server take of a context window.
type ServerTokens struct {
	Server string // configured name; empty: native tools
	Tools  int    // how many callable tools it has
	Tokens int    // what their definitions take, in tokens
}

const (
	defaultContextWindow = 200_000
	defaultShare         = 0.05
	defaultMaxTools      = 128
)

// Toolset returns the tools that a model is told of on behalf of the user of ctx:
// all that are callable, see [Registry.Callable], as long as they are no more, and
// their definitions take no more of the context window, than opts say. Otherwise, if [Options].Search is
// set, these are the tools search_tools, describe_tool and call_tool, read_result,
// and those that are always there. All of them are called with [Registry.Call].
//
// Search_tools is described with the names of the servers that have deferred tools,
// so that the model knows what there is to be found. What servers say of their tools
// comes back from it and from describe_tool as it would stand in a list of tools: it
// has passed the gate, and is not enclosed by [result.Options].Wrap, for a model has to
// act upon it.
//
// Tokens are those of name, description and input schema, which is what providers
// give to models. They are counted once for each definition, see
// [SearchOptions].Tokens.
//
// A toolset that changes costs the provider's cache of the prompt: ask again at the
// beginning of a conversation, or when [Snapshot.Version] has changed.
func (r *Registry) Toolset(ctx context.Context, opts *ToolsetOptions) *Toolset {
	var o ToolsetOptions
	if opts != nil {
		o = *opts
	}
	s := r.Snapshot()
	tokens := r.tokens.of(ctx, s)
	callable := r.callableBy(ctx)
	set := &Toolset{Limit: o.limit()}
	var servers serverTokens
	var finders []int                       // places in the snapshot
	found := make([]int, 0, len(s.entries)) // the same, of callable tools
	for i, e := range s.entries {
		switch {
		case e.hidden:
			finders = append(finders, i)
		case e.listed() && callable(e):
			found = append(found, i)
			set.All += int(tokens[i])
			servers.add(e.def.Origin.Server, int(tokens[i]))
		}
	}
	set.Servers = servers.sorted()
	if o.ProviderSearch {
		finders = nil
	}
	var deferred []string // the servers of what the model is not told of
	if (finders != nil || o.ProviderSearch) && o.exceeded(set.All, len(found)) {
		deferred = set.divide(s, found, tokens, o.Always)
	}
	if set.Searching = len(deferred) > 0; !set.Searching {
		set.Tools, set.Deferred, set.Tokens = toolsAt(s, found), nil, set.All
		return set
	}
	for _, i := range finders {
		t, n := s.entries[i].tool, int(tokens[i])
		if isSearcher(t) {
			t, n = r.tokens.withServers(ctx, t, deferred)
		}
		set.Tools = append(set.Tools, t)
		set.Tokens += n
	}
	slices.SortFunc(set.Tools, func(a, b Tool) int { return strings.Compare(a.Definition().Name, b.Definition().Name) })
	return set
}

// divide parts the tools that the model is told of in any case from the others, for
// which it has to search. It returns the servers of these, sorted.
func (set *Toolset) divide(s *Snapshot, found []int, tokens []int32, always func(*Definition, Hints) bool) []string {
	var servers []string
	set.Deferred = make([]Tool, 0, len(found))
	for _, i := range found {
		e := s.entries[i]
		// The result of ReturnDirect is for the user: an agent has to know the tool.
		if isReader(e.tool) || e.def.ReturnDirect || always == nil && e.server == nil || always != nil && always(e.def, e.hints) {
			set.Tools = append(set.Tools, e.tool)
			set.Tokens += int(tokens[i])
			continue
		}
		set.Deferred = append(set.Deferred, e.tool)
		if server := e.def.Origin.Server; len(servers) == 0 || servers[len(servers)-1] != server {
			servers = append(servers, server)
		}
	}
	slices.Sort(servers)
	return slices.Compact(servers)
}

func toolsAt(s *Snapshot, places []int) []Tool {
	if len(places) == len(s.tools) {
		return slices.Clip(s.tools)
	}
	tools := make([]Tool, len(places))
	for i, at := range places {
		tools[i] = s.entries[at].tool
	}
	return tools
}

// limit is how many tokens may be taken before the model has to search.
func (o *ToolsetOptions) limit() int {
	window := o.ContextWindow
	if window <= 0 {
		window = defaultContextWindow
	}
	switch {
	case o.Share < 0:
		return 0
	case o.Share >= 1:
		return window
	case o.Share > 0:
		return int(float64(window) * o.Share)
	}
	return int(float64(window) * defaultShare) // a share that is not a number is none
}

// exceeded reports whether the model has to search if there are so many tools that
// take so many tokens.
func (o *ToolsetOptions) exceeded(tokens, tools int) bool {
	most := cmp.Or(o.MaxTools, defaultMaxTools)
	switch {
	case o.Share < 0:
		return true
	case o.Share >= 1:
		return false
	}
	return tokens > o.limit() || most > 0 && tools > most
}

// serverTokens adds up what the tools of each server take.
type serverTokens struct {
	servers []ServerTokens
	places  map[string]int // by name
	last    int            // tools of one server mostly follow one another
}

func (t *serverTokens) add(server string, tokens int) {
	if len(t.servers) == 0 || t.servers[t.last].Server != server {
		at, known := t.places[server]
		if !known {
			if t.places == nil {
				t.places = map[string]int{}
			}
			at = len(t.servers)
			t.places[server] = at
			t.servers = append(t.servers, ServerTokens{Server: server})
		}
		t.last = at
	}
	t.servers[t.last].Tools++
	t.servers[t.last].Tokens += tokens
}

// sorted returns the servers, the largest first.
func (t *serverTokens) sorted() []ServerTokens {
	slices.SortFunc(t.servers, func(a, b ServerTokens) int {
		return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), strings.Compare(a.Server, b.Server))
	})
	return t.servers
}
