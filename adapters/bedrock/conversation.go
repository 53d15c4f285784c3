package bedrock

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
)

// noAnswer stands where a model has not answered.
const noAnswer = "(no answer)"

// Append returns a conversation with more messages behind it, as Bedrock takes it: roles
// alternate there, and the results of a message's calls stand in one message, which for
// some models must have nothing else. So a message that has the role of the one before is
// joined to it. But where one of them has results and the other has none, such as when a
// call was cancelled and the user goes on, the results come first, and a message in which
// the model does not answer parts them.
//
// The messages that are given, and what they share memory with, stay as they are.
func Append(messages []types.Message, more ...types.Message) []types.Message {
	all := slices.Grow(slices.Clone(messages), len(more))
	for _, m := range more {
		last := len(all) - 1
		switch {
		case last < 0 || all[last].Role != m.Role:
			all = append(all, m)
		case m.Role == types.ConversationRoleAssistant:
			all[last] = types.Message{Role: m.Role, Content: slices.Concat(all[last].Content, m.Content)}
		case hasResults(all[last]) == hasResults(m):
			all[last] = join(all[last], m)
		case hasResults(m):
			all = append(all[:last], m, unanswered(), all[last])
		default:
			all = append(all, unanswered(), m)
		}
	}
	return all
}

// unanswered returns the message of a model that has not answered.
func unanswered() types.Message {
	return types.Message{
		Role:    types.ConversationRoleAssistant,
		Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: noAnswer}},
	}
}

// join returns one message of two of the user, results first.
func join(a, b types.Message) types.Message {
	var results, rest []types.ContentBlock
	for _, block := range slices.Concat(a.Content, b.Content) {
		if isResult(block) {
			results = append(results, block)
		} else {
			rest = append(rest, block)
		}
	}
	return types.Message{Role: a.Role, Content: append(results, rest...)}
}

func hasResults(m types.Message) bool { return slices.ContainsFunc(m.Content, isResult) }

func isResult(block types.ContentBlock) bool {
	_, ok := block.(*types.ContentBlockMemberToolResult)
	return ok
}
