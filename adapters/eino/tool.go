package eino

import (
	"context"
	"encoding/json"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A base is a tool of a turn.
type base struct {
	belt *Belt
	turn *profile.Turn
	tool *profile.Tool
	bare bool // see Belt.toolsOf
}

// Info returns what the model is told of the tool.
func (b *base) Info(context.Context) (*schema.ToolInfo, error) {
	if b.bare {
		return &schema.ToolInfo{Name: b.tool.Name}, nil
	}
	return infoOf(b.tool, b.belt.opts.Provider)
}

// A textTool returns text.
type textTool struct{ base }

var _ tool.InvokableTool = (*textTool)(nil)

func (t *textTool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	a, err := t.belt.call(ctx, t.turn, t.tool.Name, arguments)
	if err != nil {
		return "", err
	}
	return t.belt.textOf(t.turn, a), nil
}

// A mediaTool returns text and media.
type mediaTool struct{ base }

var _ tool.EnhancedInvokableTool = (*mediaTool)(nil)

func (t *mediaTool) InvokableRun(ctx context.Context, argument *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
	text := ""
	if argument != nil {
		text = argument.Text
	}
	a, err := t.belt.call(ctx, t.turn, t.tool.Name, text)
	if err != nil {
		return nil, err
	}
	return t.belt.resultOf(t.turn, a), nil
}

// originKey is where the [schema.ToolInfo].Extra of a tool of the registry has its
// name there. It sets them apart from other tools.
const originKey = "mcpbelt_tool"

// infoOf returns what a model is told of a tool, in what the converter for its provider takes.
func infoOf(t *profile.Tool, p profile.Provider) (*schema.ToolInfo, error) {
	raw := t.Schema
	if p == profile.Gemini { // it fails with all tools, or drops types, for more
		raw, _ = json.Marshal(profile.OneType(raw)) // it was JSON
	}
	parameters, err := schemaOf(raw)
	if err != nil {
		return nil, err
	}
	return &schema.ToolInfo{
		Name:        t.Name,
		Desc:        t.ChatDescription(),
		Extra:       map[string]any{originKey: t.Definition.Name},
		ParamsOneOf: schema.NewParamsOneOfByJSONSchema(parameters),
	}, nil
}

// call makes a call, or goes on with one that has waited for a person. The error is an
// interrupt, or that of ctx.
func (b *Belt) call(ctx context.Context, t *profile.Turn, name, arguments string) (*profile.Answer, error) {
	c := profile.Call{ID: compose.GetToolCallID(ctx), Name: name, Arguments: json.RawMessage(arguments)}
	a, err := b.answer(ctx, t, c)
	if err != nil {
		return nil, err
	}
	if a.Err != nil && ctx.Err() != nil {
		return nil, ended(ctx, a.Err)
	}
	if a.Waits() {
		return nil, b.interrupt(ctx, &a)
	}
	b.direct(ctx, &a)
	return &a, nil
}

// ended returns the error of a call that its context ended.
func ended(ctx context.Context, err error) error { return &endedError{context.Cause(ctx), err} }

type endedError struct{ cause, call error }

func (e *endedError) Error() string   { return e.cause.Error() }
func (e *endedError) Unwrap() []error { return []error{e.cause, e.call} }
