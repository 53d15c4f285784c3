package anthropic

import (
	"cmp"
	"context"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Options are the options of [Tools] and [NewRunnerTools]. Nil and the zero value mean
// the defaults.
type Options struct {
	// Turn says which tools the model is told of, and how calls run.
	Turn profile.TurnOptions
	// Regex has the model look for deferred tools with regular expressions, by
	// tool_search_tool_regex. False: with words, by tool_search_tool_bm25. It has an
	// effect if tools are deferred, such as with ProviderSearch of Turn.
	Regex bool
	// Cache sets a breakpoint of the prompt cache behind the tools, which lives that
	// long: one of the four that a request may have. Deferred tools are not part of
	// what is cached. Empty: none.
	Cache sdk.CacheControlEphemeralTTL
}

// A Turn is what a model is told of in one request, and the way back of the calls
// that it answers with. It does not change, and is safe for concurrent use.
type Turn struct {
	*profile.Turn
	regex bool
	cache sdk.CacheControlEphemeralTTL
}

// Tools returns the tools of a registry that the user of ctx may call, for one
// request.
func Tools(ctx context.Context, r *registry.Registry, opts *Options) (*Turn, error) {
	o := *cmp.Or(opts, &Options{})
	turn, err := profile.NewTurn(ctx, r, profile.Anthropic, &o.Turn)
	if err != nil {
		return nil, err
	}
	return &Turn{Turn: turn, regex: o.Regex, cache: o.Cache}, nil
}

// Params returns the tools for the field Tools of a request, behind the API's own
// search tool if tools are deferred, and its code execution tool if programs may call
// tools; nil if there are none. The schemas are raw JSON, which the fields of
// InputSchema do not show.
//
// Give it the messages of the request too: the API refuses a conversation with calls and no
// tools, and one in which the model has found a tool that is not declared any more.
// Params declares it, so that the model can be told that it is gone, or one tool that says that
// there are none.
func (t *Turn) Params(conversation ...sdk.MessageParam) []sdk.ToolUnionParam {
	return t.params(gone(plain(), t, conversation))
}

// params returns the tools, with some that are gone, for a conversation in which some were
// called, or not.
func (t *Turn) params(gone []string, called bool) []sdk.ToolUnionParam {
	var params []sdk.ToolUnionParam
	searching := t.Set().Searching() || len(gone) > 0
	switch {
	case searching && t.regex:
		params = append(params, sdk.ToolUnionParamOfToolSearchToolRegex20251119(sdk.ToolSearchToolRegex20251119TypeToolSearchToolRegex20251119))
	case searching:
		params = append(params, sdk.ToolUnionParamOfToolSearchToolBm25_20251119(sdk.ToolSearchToolBm25_20251119TypeToolSearchToolBm25_20251119))
	}
	params = append(params, t.programRunners()...)
	last := -1 // of those that are not deferred
	tools := t.Set().Tools()
	if called && len(params)+len(tools) == 0 {
		tools = []*profile.Tool{profile.NoTools()}
	}
	for _, tool := range tools {
		p := &sdk.ToolParam{Name: tool.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](tool.Schema)}
		if tool.Description != "" {
			p.Description = sdk.String(tool.Description)
		}
		if tool.Strict {
			p.Strict = sdk.Bool(true)
		}
		p.AllowedCallers = tool.AllowedCallers
		if tool.Deferred {
			p.DeferLoading = sdk.Bool(true)
		} else {
			last = len(params)
		}
		params = append(params, sdk.ToolUnionParam{OfTool: p})
	}
	for _, name := range gone {
		params = append(params, sdk.ToolUnionParam{OfTool: &sdk.ToolParam{
			Name: name, Description: sdk.String("This tool is gone. Do not call it."), DeferLoading: sdk.Bool(true),
			InputSchema: sdk.ToolInputSchemaParam{Properties: map[string]any{}},
		}})
	}
	if t.cache != "" && len(params) > 0 {
		breakpoint := sdk.NewCacheControlEphemeralParam()
		breakpoint.TTL = t.cache
		*params[max(last, 0)].GetCacheControl() = breakpoint
	}
	return params
}

// BetaParams is [Turn.Params] for the beta of the API.
func (t *Turn) BetaParams(conversation ...sdk.BetaMessageParam) []sdk.BetaToolUnionParam {
	var params []sdk.BetaToolUnionParam
	for _, p := range t.params(gone(beta(), t, conversation)) {
		params = append(params, betaParam(p))
	}
	return params
}

// programRunners returns the API's tools that run the programs which may call tools.
func (t *Turn) programRunners() []sdk.ToolUnionParam {
	var callers []string
	for _, tool := range t.Set().Tools() {
		callers = append(callers, tool.AllowedCallers...)
	}
	var params []sdk.ToolUnionParam
	switch {
	case slices.Contains(callers, "code_execution_20260521"):
		params = append(params, sdk.ToolUnionParam{OfCodeExecutionTool20260521: &sdk.CodeExecutionTool20260521Param{}})
	case slices.Contains(callers, "code_execution_20260120"):
		params = append(params, sdk.ToolUnionParam{OfCodeExecutionTool20260120: &sdk.CodeExecutionTool20260120Param{}})
	case slices.Contains(callers, "code_execution_20250825"):
		params = append(params, sdk.ToolUnionParam{OfCodeExecutionTool20250825: &sdk.CodeExecutionTool20250825Param{}})
	}
	return params
}

// betaParam returns a tool of [Turn.Params] in the types of the beta.
func betaParam(p sdk.ToolUnionParam) sdk.BetaToolUnionParam {
	tool := p.OfTool
	if tool == nil {
		return asBeta[sdk.BetaToolUnionParam](p)
	}
	beta := &sdk.BetaToolParam{
		Name: tool.Name, Description: tool.Description, InputSchema: sdk.BetaToolInputSchemaParam{Properties: tool.InputSchema.Properties},
		Strict: tool.Strict, DeferLoading: tool.DeferLoading, AllowedCallers: tool.AllowedCallers,
	}
	if raw, ok := tool.InputSchema.Overrides(); ok {
		beta.InputSchema = param.Override[sdk.BetaToolInputSchemaParam](raw)
	}
	if tool.CacheControl.TTL != "" {
		beta.CacheControl = sdk.NewBetaCacheControlEphemeralParam()
		beta.CacheControl.TTL = sdk.BetaCacheControlEphemeralTTL(tool.CacheControl.TTL)
	}
	return sdk.BetaToolUnionParam{OfTool: beta}
}

// gone returns the names of the tools that the model has found in a conversation and that are
// not among the tools any more, each once, and whether it has called any.
func gone[M, B any](f *form[M, B], t *Turn, conversation []M) (gone []string, called bool) {
	for _, m := range conversation {
		for _, b := range f.content(m) {
			v := f.look(b)
			called = called || v.call != nil
			for _, name := range v.found {
				if _, ok := t.Set().Lookup(name); !ok && !slices.Contains(gone, name) {
					gone = append(gone, name)
				}
			}
		}
	}
	return gone, called
}
