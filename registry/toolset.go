package registry

import "context"

// ToolsetOptions are the options of [Registry.Toolset]. Nil and the zero value mean
// the defaults.
type ToolsetOptions struct {
	// ContextWindow is how many tokens the model takes. Default: 200,000.
	ContextWindow int
	// Share is how much of that the definitions of tools may take before the model
	// has to search, from 0 to 1. Default: 0.05. Negative: it always has to.
	// 1 or more: never.
	Share float64
	// Always are patterns, as in [Rule], for the names of the tools that the model is
	// told of even if it has to search. Nil: native tools.
	Always []string
	// Tokens counts the tokens of a definition, which is its JSON. It is a pure
	// function, safe for concurrent use. Nil: an estimate.
	Tokens func(text string) int
}

// A Toolset is what a model is told about the tools at one moment. Do not change it.
type Toolset struct {
	// Tools go with the request to the model.
	Tools []Tool
	// Deferred are the callable tools that are not among them. The model finds them
	// with search_tools, and calls them with call_tool.
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

// Toolset returns the tools that a model is told of on behalf of the user of ctx:
// all that are callable, see [Registry.Callable], as long as their definitions take
// no more of the context window than opts say. Otherwise, if [Options].Search is
// set, these are the tools search_tools, describe_tool and call_tool, read_result,
// and those that are always there. All of them are called with [Registry.Call].
//
// A toolset that changes costs the provider's cache of the prompt: ask again at the
// beginning of a conversation, or when [Snapshot.Version] has changed.
func (r *Registry) Toolset(ctx context.Context, opts *ToolsetOptions) *Toolset {
	return new(Toolset)
}
