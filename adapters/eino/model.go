package eino

import (
	"context"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Model returns a model that is told, with each request, of the tools that the user of
// its context may call at that moment. They take the place of those tools of the registry
// that the agent was made with; its other tools stay.
//
// Messages come to m as it takes them, see [Belt.Messages]. Calls that m gives no id, or one
// that another call of the message has, get one: eino tells calls apart by it. Callbacks are
// those of m.
func (b *Belt) Model(m model.ToolCallingChatModel) model.ToolCallingChatModel {
	return &liveModel{belt: b, inner: m}
}

type liveModel struct {
	belt  *Belt
	inner model.ToolCallingChatModel
	tools []*schema.ToolInfo // those of WithTools
}

var (
	_ model.ToolCallingChatModel = (*liveModel)(nil)
	_ components.Typer           = (*liveModel)(nil)
	_ components.Checker         = (*liveModel)(nil)
)

// WithTools returns a model that has these tools, too.
func (m *liveModel) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	with := *m
	with.tools = slices.Clone(tools)
	return &with, nil
}

// Generate asks the model.
func (m *liveModel) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	inner, opts, err := m.now(ctx, in, opts)
	if err != nil {
		return nil, err
	}
	out, err := inner.Generate(ctx, m.belt.Messages(in), opts...)
	return identified(out), err
}

// Stream asks the model for a stream.
func (m *liveModel) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	inner, opts, err := m.now(ctx, in, opts)
	if err != nil {
		return nil, err
	}
	out, err := inner.Stream(ctx, m.belt.Messages(in), opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderWithConvert(out, new(identity).piece), nil
}

// GetType returns that of the model.
func (m *liveModel) GetType() string {
	kind, _ := components.GetType(m.inner)
	return kind
}

// IsCallbacksEnabled reports whether the model calls callbacks by itself.
func (m *liveModel) IsCallbacksEnabled() bool { return components.IsCallbacksEnabled(m.inner) }

// now returns the model with the tools of the moment. Tools in opts go before those of
// WithTools, in this model as in others.
func (m *liveModel) now(ctx context.Context, in []*schema.Message, opts []model.Option) (model.ToolCallingChatModel, []model.Option, error) {
	given := model.GetCommonOptions(nil, opts...).Tools
	before := m.tools
	if given != nil {
		before = given
	}
	tools, err := m.belt.infos(ctx, before)
	if err != nil {
		return nil, nil, err
	}
	called := func(m *schema.Message) bool { return m != nil && m.Role == schema.Tool }
	if p := m.belt.opts.Provider; len(tools) == 0 && (p == profile.Anthropic || p == profile.Bedrock) && slices.ContainsFunc(in, called) {
		none, err := infoOf(profile.NoTools(), p)
		if err != nil {
			return nil, nil, err
		}
		tools = append(tools, none)
	}
	if given != nil {
		opts = append(slices.Clip(opts), model.WithTools(tools))
	}
	if len(tools) == 0 {
		return m.inner, opts, nil
	}
	inner, err := m.inner.WithTools(tools)
	return inner, opts, err
}

// infos returns the tools of the moment, behind those in before that are not of a
// registry. A name that one of these has is theirs.
func (b *Belt) infos(ctx context.Context, before []*schema.ToolInfo) ([]*schema.ToolInfo, error) {
	t, err := b.turn(ctx)
	if err != nil {
		return nil, err
	}
	tools := make([]*schema.ToolInfo, 0, len(before)+len(t.Set().Tools()))
	taken := map[string]bool{}
	for _, info := range before {
		if _, ours := info.Extra[originKey]; !ours {
			tools = append(tools, info)
			taken[info.Name] = true
		}
	}
	for _, declared := range t.Set().Tools() {
		if taken[declared.Name] {
			continue
		}
		info, err := infoOf(declared, b.opts.Provider)
		if err != nil {
			return nil, err
		}
		tools = append(tools, info)
	}
	return tools, nil
}

// Messages returns messages as models take them, as [Belt.Model] does, for programs that
// call theirs by themselves. Those of the caller are not changed.
//
// Images in the messages of tools go behind the results, see [Options].ToolImages. Each
// call has its result directly behind the message that it is in, in the order of the
// calls. One that has none anywhere, because its turn was cancelled or the program broke
// down, is told as lost. Arguments that are no JSON object are {}. Providers, or their
// models in eino-ext, refuse the conversation for good otherwise.
func (b *Belt) Messages(in []*schema.Message) []*schema.Message {
	out := make([]*schema.Message, 0, len(in)+1)
	var behind []schema.MessageInputPart // what goes behind the results of one message
	flush := func() {
		if behind != nil {
			out = append(out, &schema.Message{Role: schema.User, UserInputMultiContent: behind})
		}
		behind = nil
	}
	for _, m := range b.completed(in) {
		if saysNothing(m) {
			continue
		}
		if m == nil || m.Role != schema.Tool {
			flush()
			out = append(out, m)
			continue
		}
		simple, media := b.toolMessage(m)
		out = append(out, simple)
		behind = append(behind, media...)
	}
	flush()
	return out
}

// saysNothing reports whether a message of the model has nothing but thoughts, as which some
// APIs do not take it.
func saysNothing(m *schema.Message) bool {
	return m != nil && m.Role == schema.Assistant && strings.TrimSpace(m.Content) == "" && len(m.ToolCalls) == 0 && len(m.MultiContent) == 0 && len(m.AssistantGenMultiContent) == 0
}

// toolMessage returns a message of a tool whose content is text, and its media with a
// line before each. Text alone becomes text for every model.
func (b *Belt) toolMessage(m *schema.Message) (*schema.Message, []schema.MessageInputPart) {
	if len(m.UserInputMultiContent) == 0 {
		return m, nil
	}
	hasMedia := slices.ContainsFunc(m.UserInputMultiContent, func(p schema.MessageInputPart) bool { return p.Type != schema.ChatMessagePartTypeText })
	simple := *m
	if m.Content == plain(m.UserInputMultiContent) { // of an event, see sendEvents
		simple.Content = ""
	}
	if hasMedia && b.opts.ToolImages {
		return &simple, nil
	}
	simple.UserInputMultiContent = nil
	text, media := apart(m.UserInputMultiContent)
	if simple.Content != "" {
		text = simple.Content + "\n" + text
	}
	simple.Content = text
	return &simple, media
}
