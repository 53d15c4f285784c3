package goopenai

import (
	"cmp"
	"context"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Options are the options of [Tools]. Nil and the zero value mean the defaults.
type Options struct {
	// Turn says which tools the model is told of, and how calls run. ProviderSearch,
	// Deferred and AllowedCallers have no effect: the API has neither a search nor
	// programs.
	Turn profile.TurnOptions
	// Strict has the provider hold the model to the schemas, where they allow it.
	Strict bool
}

// A Turn is what a model is told of in one request, and the way back of the calls
// that it answers with. It does not change, and is safe for concurrent use.
type Turn struct {
	*profile.Turn
}

// Tools returns the tools of a registry that the user of ctx may call, for one
// request.
func Tools(ctx context.Context, r *registry.Registry, opts *Options) (*Turn, error) {
	o := *cmp.Or(opts, &Options{})
	provider := profile.OpenAI
	if o.Strict {
		provider = profile.OpenAIStrict
	}
	o.Turn.ProviderSearch, o.Turn.Deferred, o.Turn.AllowedCallers = false, nil, nil
	turn, err := profile.NewTurn(ctx, r, provider, &o.Turn)
	if err != nil {
		return nil, err
	}
	return &Turn{turn}, nil
}

// Params returns the tools for the field Tools of a request; nil if there are none.
func (t *Turn) Params() []openai.Tool {
	var params []openai.Tool
	for _, tool := range t.Set().Tools() {
		params = append(params, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name:        tool.Name,
			Description: tool.ChatDescription(),
			Strict:      tool.Strict,
			Parameters:  tool.Schema,
		}})
	}
	return params
}
