package anthropic

import (
	"context"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

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
	var o Options
	if opts != nil {
		o = *opts
	}
	turn, err := profile.NewTurn(ctx, r, profile.Anthropic, &o.Turn)
	if err != nil {
		return nil, err
	}
	return &Turn{Turn: turn, regex: o.Regex, cache: o.Cache}, nil
}

// Params returns the tools for the field Tools of a request, behind the API's own
// search tool if tools are deferred; nil if there are none. The schemas are raw JSON,
// which the fields of InputSchema do not show.
//
// If tools are deferred, give it the messages of the request too: the API refuses a
// conversation in which the model has found a tool that is not declared any more.
// Params declares it, so that the model can be told that it is gone.
func (t *Turn) Params(conversation ...sdk.MessageParam) []sdk.ToolUnionParam {
	return t.params(t.gone(found(conversation)))
}

// params returns the tools, with some that are gone.
func (t *Turn) params(gone []string) []sdk.ToolUnionParam {
	var params []sdk.ToolUnionParam
	searching := t.Searching() || len(gone) > 0
	switch {
	case searching && t.regex:
		params = append(params, sdk.ToolUnionParamOfToolSearchToolRegex20251119(sdk.ToolSearchToolRegex20251119TypeToolSearchToolRegex20251119))
	case searching:
		params = append(params, sdk.ToolUnionParamOfToolSearchToolBm25_20251119(sdk.ToolSearchToolBm25_20251119TypeToolSearchToolBm25_20251119))
	}
	last := -1 // of those that are not deferred
	for _, tool := range t.Set().Tools() {
		p := &sdk.ToolParam{Name: tool.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](tool.Schema)}
		if tool.Description != "" {
			p.Description = sdk.String(tool.Description)
		}
		if tool.Strict {
			p.Strict = sdk.Bool(true)
		}
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
	for _, p := range t.params(t.gone(betaFound(conversation))) {
		params = append(params, betaParam(p))
	}
	return params
}

// betaParam returns a tool of [Turn.Params] in the types of the beta.
func betaParam(p sdk.ToolUnionParam) sdk.BetaToolUnionParam {
	cache := sdk.BetaCacheControlEphemeralParam{}
	if c := p.GetCacheControl(); c.TTL != "" {
		cache = sdk.NewBetaCacheControlEphemeralParam()
		cache.TTL = sdk.BetaCacheControlEphemeralTTL(c.TTL)
	}
	switch {
	case p.OfToolSearchToolRegex20251119 != nil:
		return sdk.BetaToolUnionParam{OfToolSearchToolRegex20251119: &sdk.BetaToolSearchToolRegex20251119Param{
			Type: sdk.BetaToolSearchToolRegex20251119TypeToolSearchToolRegex20251119, CacheControl: cache,
		}}
	case p.OfToolSearchToolBm25_20251119 != nil:
		return sdk.BetaToolUnionParam{OfToolSearchToolBm25_20251119: &sdk.BetaToolSearchToolBm25_20251119Param{
			Type: sdk.BetaToolSearchToolBm25_20251119TypeToolSearchToolBm25_20251119, CacheControl: cache,
		}}
	}
	tool := p.OfTool
	var schema sdk.BetaToolInputSchemaParam
	if raw, ok := tool.InputSchema.Overrides(); ok {
		schema = param.Override[sdk.BetaToolInputSchemaParam](raw)
	}
	return sdk.BetaToolUnionParam{OfTool: &sdk.BetaToolParam{
		Name: tool.Name, Description: tool.Description, InputSchema: schema,
		Strict: tool.Strict, DeferLoading: tool.DeferLoading, CacheControl: cache,
	}}
}
