package eino

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// AgentTools returns the configuration of the tools of a ChatModelAgent: [Belt.ToolsNode],
// an event for each result, which adk leaves out for tools that return more than text, and
// the tools with [registry.Definition].ReturnDirect.
//
// An agent of adk has the tools that it was made with. Make one for each run: it costs
// little, and a resume finds its way by the agent's name. Tools that are listed after that
// are called by [Belt.Unknown] until the run is over, if [Belt.Model] tells of them.
func (b *Belt) AgentTools(ctx context.Context) (adk.ToolsConfig, error) {
	t, err := b.turn(ctx)
	if err != nil {
		return adk.ToolsConfig{}, err
	}
	c := adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{
		Tools:               b.toolsOf(t, false),
		UnknownToolsHandler: b.unknownOfAgent,
		ToolCallMiddlewares: []compose.ToolMiddleware{{EnhancedInvokable: sendEvents}},
	}}
	c.ReturnDirectly = directNames(t)
	return c, nil
}

// directNames returns the names of the tools whose results are for the user.
func directNames(t *profile.Turn) map[string]bool {
	names := map[string]bool{}
	for _, declared := range t.Set().Tools() {
		if declared.Definition.ReturnDirect {
			names[declared.Name] = true
		}
	}
	return names
}

// unknownOfAgent is Unknown with an event, which adk leaves out as well.
func (b *Belt) unknownOfAgent(ctx context.Context, name, arguments string) (string, error) {
	text, err := b.Unknown(ctx, name, arguments)
	if err == nil {
		sendEvent(ctx, name, schema.ToolMessage(text, compose.GetToolCallID(ctx), schema.WithToolName(name)))
	}
	return text, err
}

// sendEvents sends the event of each result that adk sends none for.
func sendEvents(next compose.EnhancedInvokableToolEndpoint) compose.EnhancedInvokableToolEndpoint {
	return func(ctx context.Context, in *compose.ToolInput) (*compose.EnhancedInvokableToolOutput, error) {
		out, err := next(ctx, in)
		if err != nil {
			return nil, err
		}
		content, err := out.Result.ToMessageInputParts()
		if err == nil { // else the tools node fails
			message := schema.ToolMessage(plain(content), in.CallID, schema.WithToolName(in.Name))
			message.UserInputMultiContent = content
			sendEvent(ctx, in.Name, message)
		}
		return out, nil
	}
}

// sendEvent sends a message of a tool to the reader of the agent's events.
func sendEvent(ctx context.Context, tool string, message *schema.Message) {
	// Outside of an agent there is no reader, which is the only error.
	_ = adk.SendEvent(ctx, adk.EventFromMessage(message, nil, schema.Tool, tool))
}
