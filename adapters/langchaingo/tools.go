package langchaingo

import (
	"cmp"
	"context"
	"slices"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Options are the options of [Tools]. Nil and the zero value mean the defaults.
type Options struct {
	// Turn says which tools the model is told of, and how calls run. ProviderSearch,
	// Deferred and AllowedCallers have no effect: langchaingo has neither deferred tools
	// nor programs.
	Turn profile.TurnOptions
	// Provider is whose model it is, whatever langchaingo's package for it. Names and
	// schemas depend on it, and how messages have to be cut. Default: [profile.OpenAI],
	// which is right for all that copy its API.
	Provider profile.Provider
	// Waiting is called when the tool of an agent waits for a person. It tells the
	// person, and returns without waiting itself; the tool then goes on waiting until
	// there is an answer, or its context ends. An error ends the tool, and with it the
	// work of the executor. Nil: the tool fails with the [*profile.WaitingError]. It may
	// be called from several goroutines. [Turn.Run] does not call it.
	Waiting func(ctx context.Context, e *profile.WaitingError) error
}

// A Turn is what a model is told of in one request, and the way back of the calls
// that it answers with. It does not change, and is safe for concurrent use.
type Turn struct {
	*profile.Turn
	opts Options
}

// Tools returns the tools of a registry that the user of ctx may call, for one
// request. The error says that the provider is not known, or that there are more
// tools than it takes.
func Tools(ctx context.Context, r *registry.Registry, opts *Options) (*Turn, error) {
	o := *cmp.Or(opts, &Options{})
	o.Provider = cmp.Or(o.Provider, profile.OpenAI)
	o.Turn.ProviderSearch, o.Turn.Deferred, o.Turn.AllowedCallers = false, nil, nil
	turn, err := profile.NewTurn(ctx, r, o.Provider, &o.Turn)
	if err != nil {
		return nil, err
	}
	return &Turn{turn, o}, nil
}

// Params returns the tools for [llms.WithTools]; nil if there are none. Give it the messages of
// the request, too: Anthropic refuses a conversation with calls and no tools, and gets one tool
// that says that there are none.
func (t *Turn) Params(conversation ...llms.MessageContent) []llms.Tool {
	var params []llms.Tool
	tools := t.Set().Tools()
	called := func(m llms.MessageContent) bool { return m.Role == llms.ChatMessageTypeTool }
	if t.blocks() && len(tools) == 0 && slices.ContainsFunc(conversation, called) {
		tools = []*profile.Tool{profile.NoTools()}
	}
	for _, tool := range tools {
		params = append(params, llms.Tool{Type: "function", Function: new(t.function(tool))})
	}
	return params
}

func (t *Turn) function(tool *profile.Tool) llms.FunctionDefinition {
	f := llms.FunctionDefinition{
		Name:        tool.Name,
		Description: tool.ChatDescription(),
		Parameters:  tool.Schema,
		Strict:      tool.Strict,
	}
	if t.Set().Provider() == profile.Gemini {
		f.Parameters = profile.OneType(tool.Schema) // what googleai takes
	}
	return f
}
