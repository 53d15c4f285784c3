// Bedrock makes the calls of a message.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	belt "github.com/mcpbelt/mcpbelt/adapters/bedrock"
	"github.com/mcpbelt/mcpbelt/registry"
)

func main() {
	ctx := context.Background()
	tools, err := belt.Tools(ctx, newRegistry(), nil)
	if err != nil {
		log.Fatal(err)
	}
	out := &bedrockruntime.ConverseOutput{Output: &types.ConverseOutputMemberMessage{Value: types.Message{
		Role: types.ConversationRoleAssistant,
		Content: []types.ContentBlock{&types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{
			ToolUseId: aws.String("tooluse_1"),
			Name:      aws.String("add"),
			Input:     document.NewLazyDocument(map[string]any{"A": 1, "B": 2}),
		}}},
	}}}
	results, err := tools.Run(ctx, out)
	if err != nil {
		log.Fatal(err)
	}
	result := results[0].Content[0].(*types.ContentBlockMemberToolResult).Value
	fmt.Println("ok", *result.ToolUseId, result.Content[0].(*types.ToolResultContentBlockMemberText).Value)
}

func newRegistry() *registry.Registry {
	reg := registry.New(nil)
	err := reg.Add(registry.MustFunc("add", "Adds two numbers", func(_ context.Context, in struct{ A, B int }) (int, error) {
		return in.A + in.B, nil
	}))
	if err != nil {
		log.Fatal(err)
	}
	return reg
}

// Output: ok tooluse_1 3
