package eino_test

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	belt "github.com/mcpbelt/mcpbelt/adapters/eino"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A tools node in a graph of one's own.
func ExampleBelt_ToolsNode() {
	ctx := context.Background()
	reg, chatModel := scripted()
	b := belt.New(reg, nil)
	answer, err := runGraph(ctx, b, chatModel, "What is here?")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, result := range answer {
		fmt.Println(result.Role, result.Content)
	}
	// Output: tool []
}

// runGraph asks the model once, and makes the calls of its answer.
func runGraph(ctx context.Context, b *belt.Belt, chatModel model.ToolCallingChatModel, question string) ([]*schema.Message, error) {
	config, err := b.ToolsNode(ctx)
	if err != nil {
		return nil, err
	}
	node, err := compose.NewToolNode(ctx, &config)
	if err != nil {
		return nil, err
	}
	graph, err := compose.NewChain[[]*schema.Message, []*schema.Message]().
		AppendChatModel(b.Model(chatModel)).
		AppendToolsNode(node).
		Compile(ctx)
	if err != nil {
		return nil, err
	}
	results, err := graph.Invoke(ctx, []*schema.Message{schema.UserMessage(question)}, b.Live(ctx))
	return b.Messages(results), err
}

// Without an agent, Messages puts an image behind the results for models that take none
// from tools.
func ExampleBelt_Messages() {
	data := "iVBORw0KGgo="
	said := schema.AssistantMessage("", []schema.ToolCall{{ID: "call_1", Function: schema.FunctionCall{Name: "chart", Arguments: "{}"}}})
	result := schema.ToolMessage("", "call_1")
	result.UserInputMultiContent = []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeText, Text: "The chart:"},
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{Base64Data: &data, MIMEType: "image/png"}}},
	}
	for _, m := range belt.New(registry.New(nil), nil).Messages([]*schema.Message{said, result}) {
		fmt.Printf("%s: %q, %d parts\n", m.Role, m.Content, len(m.UserInputMultiContent))
	}
	// Output:
	// assistant: "", 0 parts
	// tool: "The chart:\n[image image/png, 8 bytes, attached]", 0 parts
	// user: "", 2 parts
}
