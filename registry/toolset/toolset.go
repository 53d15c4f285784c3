package toolset

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// SetOptions are the options of [Finder.Toolset]. Nil and the zero value mean
// the defaults.
type SetOptions struct {
	// MaxTokens is how many tokens the definitions of tools may take before the model
	// has to search. Default: 10,000; negative: no limit.
	MaxTokens int
	// MaxTools is how many tools the model is told of before it has to search. Default: 128,
	// which is what OpenAI takes in one request; negative: no limit.
	MaxTools int
	// Always returns true for the tools that the model is told of even if it has to
	// search. It is a pure function. Hints are claims, see [registry.Hints]. Nil:
	// native tools. Those with [registry.Definition].ReturnDirect are there in any case.
	Always func(tool *registry.Definition, hints registry.Hints) bool
	// Keep leaves out the callable tools for which it returns false, as [Query].Keep does.
	// Nil: it keeps all.
	Keep func(tool *registry.Definition, hints registry.Hints) bool
	// ProviderSearch says that the model searches by a tool of its provider, which
	// gets the deferred tools, too. The tools of the Finder are not among Tools then.
	ProviderSearch bool
}

// A Set is what a model is told about the tools at one moment. Do not change it.
type Set struct {
	// Tools go with the request to the model, sorted by name.
	Tools []registry.Tool
	// Deferred are the callable tools that are not among them, sorted by name. The
	// model finds them with search_tools, and calls them with call_tool, or both in
	// the way of its provider.
	Deferred []registry.Tool
	// Searching says that the model has to search for the deferred tools.
	Searching bool
	// Tokens is how many tokens the definitions of Tools take.
	Tokens int
	// All is how many tokens the definitions of all callable tools would take.
	All int
}

const (
	defaultMaxTokens = 10_000
	defaultMaxTools  = 128
)

// Toolset returns the tools that a model is told of on behalf of the user of ctx:
// all that are callable, see [registry.Registry.Callable], as long as they are no more,
// and their definitions take no more tokens, than opts say. Otherwise
// these are the tools search_tools, describe_tool and call_tool, read_result, and those
// that are always there. All of them are called with [registry.Registry.Call].
//
// Search_tools is described with the names of the servers that have deferred tools,
// so that the model knows what there is to be found. It and describe_tool return the
// texts of servers about their tools as in a list of tools: they have passed the gate,
// and are not enclosed by [result.Options].Wrap, for a model has to act upon them.
//
// Tokens are those of name, description and input schema, which is what providers
// give to models, see [EstimateTokens].
//
// A toolset that changes costs the provider's cache of the prompt: ask again at the
// beginning of a conversation, or when [registry.Snapshot.Version] has changed.
//
// Toolset panics for the zero Finder.
func (f *Finder) Toolset(ctx context.Context, opts *SetOptions) *Set {
	if err := f.made(); err != nil {
		panic(err.Error())
	}
	o := *cmp.Or(opts, new(SetOptions))
	snapshot, callable := f.registry.Snapshot(), f.registry.Callable(ctx)
	if o.Keep != nil {
		callable = slices.DeleteFunc(slices.Clone(callable), func(t registry.Tool) bool {
			return !o.Keep(t.Definition(), t.Definition().Hints())
		})
	}
	set := &Set{}
	tokens := make([]int, len(callable))
	count := TokensOf(snapshot)
	for i, t := range callable {
		tokens[i] = count(t.Definition())
		set.All += tokens[i]
	}
	var deferred []string // the servers of what the model is not told of
	if (f.tools != nil || o.ProviderSearch) && o.exceeded(set.All, len(callable)) {
		deferred = set.divide(callable, tokens, o.Always)
	}
	if set.Searching = len(deferred) > 0; !set.Searching {
		set.Tools, set.Deferred, set.Tokens = callable, nil, set.All
		return set
	}
	if !o.ProviderSearch {
		f.addTools(set, deferred)
	}
	return set
}

// addTools adds the tools by which a model finds those of the servers that are deferred.
func (f *Finder) addTools(set *Set, deferred []string) {
	for _, t := range f.tools {
		if t.Definition().Name == searchToolsName {
			t = f.withServers(t, deferred)
		}
		set.Tools = append(set.Tools, t)
		set.Tokens += EstimateTokens(t.Definition())
	}
	slices.SortFunc(set.Tools, func(a, b registry.Tool) int { return strings.Compare(a.Definition().Name, b.Definition().Name) })
}

// Of returns the toolset of a registry whose model has no tools of a [Finder]: all
// callable tools, or with [SetOptions].ProviderSearch those that go with the request,
// and those that the provider searches. Of panics for a nil registry.
func Of(ctx context.Context, r *registry.Registry, opts *SetOptions) *Set {
	return (&Finder{registry: r}).Toolset(ctx, opts)
}

// divide parts the tools that the model is told of in any case from the others, for
// which it has to search. It returns the servers of these, sorted.
func (set *Set) divide(callable []registry.Tool, tokens []int, always func(*registry.Definition, registry.Hints) bool) []string {
	var servers []string
	set.Deferred = make([]registry.Tool, 0, len(callable))
	for i, t := range callable {
		def := t.Definition()
		if isAlways(def, always) {
			set.Tools = append(set.Tools, t)
			set.Tokens += tokens[i]
			continue
		}
		set.Deferred = append(set.Deferred, t)
		if server := def.Origin.Server; len(servers) == 0 || servers[len(servers)-1] != server {
			servers = append(servers, server)
		}
	}
	slices.Sort(servers)
	return slices.Compact(servers)
}

// isAlways reports whether the model is told of a tool in any case.
func isAlways(def *registry.Definition, always func(*registry.Definition, registry.Hints) bool) bool {
	native := def.Origin.Server == ""
	switch {
	case def.ReturnDirect: // its result is for the user: an agent has to know the tool
		return true
	case native && def.Name == result.ReaderName: // results refer to it
		return true
	case always == nil:
		return native
	}
	return always(def, def.Hints())
}

// exceeded reports whether the model has to search if there are so many tools that
// take so many tokens.
func (o *SetOptions) exceeded(tokens, tools int) bool {
	maxTokens, maxTools := cmp.Or(o.MaxTokens, defaultMaxTokens), cmp.Or(o.MaxTools, defaultMaxTools)
	return maxTokens > 0 && tokens > maxTokens || maxTools > 0 && tools > maxTools
}
