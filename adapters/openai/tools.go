package openai

import (
	"cmp"
	"context"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Options are the options of [ResponseTools] and [ChatTools]. Nil and the zero value
// mean the defaults.
type Options struct {
	// Turn says which tools the model is told of, and how calls run. ProviderSearch,
	// Deferred and AllowedCallers have no effect in Chat Completions, which has
	// neither a search nor programs. A caller is "direct" or "programmatic".
	Turn profile.TurnOptions
	// Strict has OpenAI hold the model to the schemas, where they allow it.
	Strict bool
}

// turn returns the turn of either API.
func (o *Options) turn(ctx context.Context, r *registry.Registry) (*profile.Turn, error) {
	provider := profile.OpenAI
	if o.Strict {
		provider = profile.OpenAIStrict
	}
	return profile.NewTurn(ctx, r, provider, &o.Turn)
}

// A ResponseTurn is what a model is told of in one request of the Responses API, and
// the way back of the calls that it answers with. It does not change, and is safe for
// concurrent use.
type ResponseTurn struct {
	*profile.Turn
}

// ResponseTools returns the tools of a registry that the user of ctx may call, for
// one request of the Responses API.
func ResponseTools(ctx context.Context, r *registry.Registry, opts *Options) (*ResponseTurn, error) {
	o := *cmp.Or(opts, &Options{})
	turn, err := o.turn(ctx, r)
	if err != nil {
		return nil, err
	}
	return &ResponseTurn{turn}, nil
}

// Params returns the tools for the field Tools of a request; nil if there are none.
// If some are deferred, OpenAI's tool_search is among them, and if programs may call
// some, programmatic_tool_calling: a program that adds these itself must not do so
// then. The fields of a declaration are not set, for it goes as JSON.
func (t *ResponseTurn) Params() []responses.ToolUnionParam {
	var params []responses.ToolUnionParam
	for _, tool := range t.Set().Tools() {
		params = append(params, responses.ToolUnionParam{OfFunction: new(param.Override[responses.FunctionToolParam](tool.Declaration()))})
	}
	if t.Set().Searching() {
		params = append(params, responses.ToolUnionParam{OfToolSearch: &responses.ToolSearchToolParam{}})
	}
	if t.Set().Programs() {
		params = append(params, responses.ToolUnionParam{OfProgrammaticToolCalling: new(responses.NewToolProgrammaticToolCallingParam())})
	}
	return params
}

// A ChatTurn is what a model is told of in one request of Chat Completions, and the
// way back of the calls that it answers with. It does not change, and is safe for
// concurrent use.
type ChatTurn struct {
	*profile.Turn
}

// ChatTools returns the tools of a registry that the user of ctx may call, for one
// request of Chat Completions.
func ChatTools(ctx context.Context, r *registry.Registry, opts *Options) (*ChatTurn, error) {
	o := *cmp.Or(opts, &Options{})
	o.Turn.ProviderSearch, o.Turn.Deferred, o.Turn.AllowedCallers = false, nil, nil
	turn, err := o.turn(ctx, r)
	if err != nil {
		return nil, err
	}
	return &ChatTurn{turn}, nil
}

// Params returns the tools for the field Tools of a request; nil if there are none.
// The fields of a declaration are not set, for it goes as JSON.
func (t *ChatTurn) Params() []openai.ChatCompletionToolUnionParam {
	var params []openai.ChatCompletionToolUnionParam
	for _, tool := range t.Set().Tools() {
		params = append(params, openai.ChatCompletionToolUnionParam{OfFunction: new(param.Override[openai.ChatCompletionFunctionToolParam](tool.ChatDeclaration()))})
	}
	return params
}
