package bedrock_test

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	belt "github.com/mcpbelt/mcpbelt/adapters/bedrock"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestCollectServersOwnResults keeps what Bedrock's own tools have returned beside their
// calls, as Converse does: a call without a result would be sent back otherwise.
func TestCollectServersOwnResults(t *testing.T) {
	start := func(i int32, s types.ContentBlockStart) types.ConverseStreamOutput {
		return &types.ConverseStreamOutputMemberContentBlockStart{Value: types.ContentBlockStartEvent{ContentBlockIndex: &i, Start: s}}
	}
	delta := func(i int32, d types.ContentBlockDelta) types.ConverseStreamOutput {
		return &types.ConverseStreamOutputMemberContentBlockDelta{Value: types.ContentBlockDeltaEvent{ContentBlockIndex: &i, Delta: d}}
	}
	out := assert.Value(collect(streamOf(
		start(0, &types.ContentBlockStartMemberToolUse{Value: types.ToolUseBlockStart{
			ToolUseId: aws.String("a"), Name: aws.String("search"), Type: types.ToolUseTypeServerToolUse}}),
		delta(0, &types.ContentBlockDeltaMemberToolUse{Value: types.ToolUseBlockDelta{Input: aws.String(`{"q":1}`)}}),
		start(1, &types.ContentBlockStartMemberToolResult{Value: types.ToolResultBlockStart{
			ToolUseId: aws.String("a"), Type: aws.String("search_result"), Status: types.ToolResultStatusSuccess}}),
		delta(1, &types.ContentBlockDeltaMemberToolResult{Value: []types.ToolResultBlockDelta{&types.ToolResultBlockDeltaMemberText{Value: "it "}}}),
		delta(1, &types.ContentBlockDeltaMemberToolResult{Value: []types.ToolResultBlockDelta{
			&types.ToolResultBlockDeltaMemberText{Value: "rains"},
			&types.ToolResultBlockDeltaMemberJson{Value: document.NewLazyDocument(map[string]any{"n": 1})},
			&types.ToolResultBlockDeltaMemberText{Value: "here"},
		}}),
		start(2, &types.ContentBlockStartMemberToolResult{Value: types.ToolResultBlockStart{ToolUseId: aws.String("b")}}),
		delta(3, &types.ContentBlockDeltaMemberText{Value: "So it is."}),
		stop()), nil))(t)
	content := belt.Append([]types.Message{ofUser("hi"), {Role: types.ConversationRoleAssistant, Content: []types.ContentBlock{said("well")}}}, belt.Message(out))[1].Content
	if len(content) != 5 {
		t.Fatalf("the message has %d blocks: %+v", len(content), content)
	}
	if use, ok := content[1].(*types.ContentBlockMemberToolUse); !ok || use.Value.Type != types.ToolUseTypeServerToolUse {
		t.Errorf("in front of the result is %+v", content[1])
	}
	result := content[2].(*types.ContentBlockMemberToolResult).Value
	if *result.ToolUseId != "a" || *result.Type != "search_result" || result.Status != types.ToolResultStatusSuccess || len(result.Content) != 3 {
		t.Fatalf("the result is %+v", result)
	}
	structured, err := result.Content[1].(*types.ToolResultContentBlockMemberJson).Value.MarshalSmithyDocument()
	assert.False(t, err != nil || !json.Valid(structured) || string(structured) != `{"n":1}`, "the structured result is %s, %v", structured, err)
	first, last := result.Content[0].(*types.ToolResultContentBlockMemberText), result.Content[2].(*types.ToolResultContentBlockMemberText)
	assert.False(t, first.Value != "it rains" || last.Value != "here", "the texts are %q, %q", first.Value, last.Value)
	if empty := content[3].(*types.ContentBlockMemberToolResult).Value; *empty.ToolUseId != "b" || empty.Content == nil {
		t.Errorf("the result of nothing is %+v", empty)
	}
}
