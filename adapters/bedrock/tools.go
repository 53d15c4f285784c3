package bedrock

import (
	"cmp"
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Options are the options of [Tools]. Nil and the zero value mean the defaults.
type Options struct {
	// Turn says which tools the model is told of, and how they are called. Set its
	// TextOnly for a model that takes neither images nor documents: without it Bedrock
	// refuses a conversation that has one. ProviderSearch and Deferred have no effect:
	// the API has no deferred tools.
	Turn profile.TurnOptions
	// Model is the id of the model, or of its inference profile. It decides where
	// images, documents and failures of tools are told, and nothing else: for an ARN
	// that does not say what the model is, give the id of the model. Empty: an unknown
	// model, which is told of them as all models understand it.
	Model string
}

// A Turn is what a model is told of in one request, and the way back of its calls. It
// does not change, and is safe for concurrent use.
type Turn struct {
	*profile.Turn
	native bool // the model takes images and failures in the results of tools, and more beside them
}

// Tools returns the tools of a registry for one request, on behalf of the user of ctx.
// The error is that of [profile.NewTurn].
func Tools(ctx context.Context, r *registry.Registry, opts *Options) (*Turn, error) {
	o := *cmp.Or(opts, &Options{})
	turn, err := profile.NewTurn(ctx, r, profile.Bedrock, &o.Turn)
	if err != nil {
		return nil, err
	}
	return &Turn{Turn: turn, native: native(o.Model)}, nil
}

// native reports whether a model takes images and failures in the results of tools. So
// the API's reference has it of Claude and Nova; others refuse the conversation, and
// Llama does so for a text beside a result, too.
func native(model string) bool {
	return strings.Contains(model, "anthropic.") || strings.Contains(model, "claude") || strings.Contains(model, "nova")
}

func specs(list []*profile.Tool) []types.Tool {
	var tools []types.Tool
	for _, tool := range list {
		spec := types.ToolSpecification{
			Name:        aws.String(tool.Name),
			InputSchema: &types.ToolInputSchemaMemberJson{Value: newRaw(tool.Schema)},
		}
		if tool.Description != "" {
			spec.Description = aws.String(tool.Description)
		}
		tools = append(tools, &types.ToolMemberToolSpec{Value: spec})
	}
	return tools
}

// Config returns the tools for a request with these messages, sorted by name. It is nil if there are no
// tools; but if the messages speak of calls, for which Bedrock wants tools in any case,
// it then has one tool that says that there are none.
func (t *Turn) Config(messages []types.Message) *types.ToolConfiguration {
	tools := specs(t.Set().Tools())
	if len(tools) == 0 && speaksOfCalls(messages) {
		tools = specs([]*profile.Tool{profile.NoTools()})
	}
	if len(tools) == 0 {
		return nil
	}
	return &types.ToolConfiguration{Tools: tools}
}

// speaksOfCalls reports whether messages have calls or results.
func speaksOfCalls(messages []types.Message) bool {
	for _, m := range messages {
		for _, block := range m.Content {
			switch block.(type) {
			case *types.ContentBlockMemberToolUse, *types.ContentBlockMemberToolResult:
				return true
			}
		}
	}
	return false
}
