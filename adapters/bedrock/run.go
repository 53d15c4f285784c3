package bedrock

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Message returns the message of a model as it can go into the conversation, see [Append].
func Message(out *bedrockruntime.ConverseOutput) types.Message {
	return Append(nil, types.Message{Role: types.ConversationRoleAssistant, Content: blocksOf(out)})[0]
}

// blocksOf returns what a model wrote.
func blocksOf(out *bedrockruntime.ConverseOutput) []types.ContentBlock {
	if out == nil {
		return nil
	}
	if m, ok := out.Output.(*types.ConverseOutputMemberMessage); ok && m != nil {
		return m.Value.Content
	}
	return nil
}

// Calls returns the calls that a model wrote, in their order. Those of the tools of
// Bedrock itself are not among them. Those that may be cut off are incomplete: they are
// not made, and the model is told so. A program with functions of its own beside those
// of the registry takes its calls out, gives the others to [profile.Turn.Run], and all
// answers to [Turn.Results].
func (t *Turn) Calls(out *bedrockruntime.ConverseOutput) []profile.Call {
	var calls []profile.Call
	blocks := blocksOf(out)
	for i, block := range blocks {
		if b, ok := block.(*types.ContentBlockMemberToolUse); ok && b.Value.Type != types.ToolUseTypeServerToolUse {
			call := callOf(&b.Value)
			call.Incomplete = cutOff(out.StopReason, i == len(blocks)-1)
			calls = append(calls, call)
		}
	}
	return profile.Bedrock.WithIDs(calls)
}

// cutOff reports whether a call may lack arguments: its model was stopped in the last
// block, or did not write what Bedrock could read.
func cutOff(stop types.StopReason, last bool) bool {
	switch stop {
	case types.StopReasonMalformedToolUse, types.StopReasonMalformedModelOutput:
		return true
	case types.StopReasonMaxTokens, types.StopReasonModelContextWindowExceeded, types.StopReasonContentFiltered, types.StopReasonGuardrailIntervened:
		return last
	}
	return false
}

// Run makes the calls of a model's answer, see [profile.Turn.Run], and returns the
// messages of [Turn.Results]; none if there are no calls. They go behind [Message], by
// [Append].
//
// If a call waits for a person, there are none yet, for Bedrock wants the results of all
// calls in one message: the error is a [*profile.WaitingError] then. If ctx ends, Run
// returns its error, and the messages all the same, so that the conversation can go on.
func (t *Turn) Run(ctx context.Context, out *bedrockruntime.ConverseOutput) ([]types.Message, error) {
	answers, err := t.Turn.Run(ctx, t.Calls(out))
	return t.Results(answers...), err
}
