package bedrock

import (
	"context"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Message returns the message of a model as it can go into the conversation. Bedrock
// refuses some of what its models write when it comes back: tools with a name that none
// can have, arguments that are no object, blank texts, no content at all. That is put
// right; all else is as it came.
func Message(out *bedrockruntime.ConverseOutput) types.Message {
	m := types.Message{Role: types.ConversationRoleAssistant}
	for _, block := range blocksOf(out) {
		switch b := block.(type) {
		case *types.ContentBlockMemberText:
			if strings.TrimSpace(b.Value) == "" {
				continue
			}
		case *types.ContentBlockMemberToolUse:
			use := b.Value
			use.Name = aws.String(nameToSend(aws.ToString(use.Name)))
			use.Input = inputToSend(&use)
			block = &types.ContentBlockMemberToolUse{Value: use}
		}
		m.Content = append(m.Content, block)
	}
	if len(m.Content) == 0 {
		return unanswered()
	}
	return m
}

// otherThanName matches what the name of a tool cannot have.
var otherThanName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// maxName is how long the name of a tool can be, in bytes.
const maxName = 64

func nameToSend(name string) string {
	name = otherThanName.ReplaceAllString(name, "_")
	if name == "" {
		name = "_"
	}
	return name[:min(len(name), maxName)]
}

// inputToSend returns arguments that Bedrock takes back.
func inputToSend(use *types.ToolUseBlock) *raw {
	if r, ok := use.Input.(*raw); ok {
		return r
	}
	return newInput(argumentsOf(use.Input))
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
			calls = append(calls, profile.Call{
				ID:         aws.ToString(b.Value.ToolUseId),
				Name:       aws.ToString(b.Value.Name),
				Arguments:  argumentsOf(b.Value.Input),
				Incomplete: cutOff(out.StopReason, i == len(blocks)-1),
			})
		}
	}
	return calls
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
	calls := t.Calls(out)
	answers, err := t.Turn.Run(ctx, calls)
	return t.Results(answers...), err
}
