package bedrock

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// noAnswer stands where a model has not answered.
const noAnswer = "(no answer)"

// Append returns a conversation with more messages behind it, as Bedrock takes it, see
// [profile.Repairer]: roles alternate there, and the results of a message's calls stand in one
// message, which for some models must have nothing else. So a message that has the role of the
// one before is joined to it. But where results are there and more that did not come with them,
// such as when a call was cancelled and the user goes on, a message in which the model does not
// answer parts the two. Of what a model wrote, blank texts and reasoning that was cut off, or
// that nothing stands behind, are left out.
//
// The messages that are given, and what they share memory with, stay as they are.
func Append(messages []types.Message, more ...types.Message) []types.Message {
	var all []types.Message
	for _, p := range repairer().Repair(partsOf(slices.Concat(messages, more))) {
		last := len(all) - 1
		switch {
		case last < 0 || all[last].Role != p.Role:
			all = append(all, p.Message)
		case p.Role == types.ConversationRoleAssistant:
			all[last] = types.Message{Role: p.Role, Content: slices.Concat(all[last].Content, p.Content)}
		case p.behind || hasResults(all[last]) == hasResults(p.Message):
			all[last] = join(all[last], p.Message)
		default:
			all = append(all, unanswered(), p.Message)
		}
	}
	return all
}

// A part is a message, one result of a message, or the rest behind its results.
type part struct {
	types.Message
	behind bool
}

// partsOf takes messages apart.
func partsOf(messages []types.Message) []part {
	var all []part
	for _, m := range messages {
		if m.Role == types.ConversationRoleAssistant {
			all = append(all, part{types.Message{Role: m.Role, Content: sendable(m.Content)}, false})
			continue
		}
		var rest []types.ContentBlock
		results := 0
		for _, block := range m.Content {
			if isResult(block) {
				all = append(all, part{types.Message{Role: m.Role, Content: []types.ContentBlock{block}}, false})
				results++
			} else {
				rest = append(rest, block)
			}
		}
		if rest != nil || results == 0 {
			all = append(all, part{types.Message{Role: m.Role, Content: rest}, results > 0})
		}
	}
	return all
}

// sendable returns what a model wrote as Bedrock takes it back.
func sendable(blocks []types.ContentBlock) []types.ContentBlock {
	kept := profile.Sendable(blocks, func(block types.ContentBlock) (thought, empty bool) {
		switch b := block.(type) {
		case *types.ContentBlockMemberText:
			return false, strings.TrimSpace(b.Value) == ""
		case *types.ContentBlockMemberReasoningContent:
			text, ok := b.Value.(*types.ReasoningContentBlockMemberReasoningText)
			return true, ok && aws.ToString(text.Value.Signature) == ""
		}
		return false, false
	})
	if len(kept) == 0 {
		return unanswered().Content
	}
	return kept
}

func repairer() *profile.Repairer[part] {
	return &profile.Repairer[part]{
		Provider: profile.Bedrock,
		Each: func(p part, call, result func(profile.Call) profile.Call) part {
			p.Content = slices.Clone(p.Content)
			for i, block := range p.Content {
				switch b := block.(type) {
				case *types.ContentBlockMemberToolUse:
					if use := b.Value; use.Type != types.ToolUseTypeServerToolUse {
						back := call(callOf(&use))
						use.ToolUseId, use.Name, use.Input = aws.String(back.ID), aws.String(back.Name), newInput(back.Arguments)
						p.Content[i] = &types.ContentBlockMemberToolUse{Value: use}
					}
				case *types.ContentBlockMemberToolResult:
					if is := b.Value; p.Role == types.ConversationRoleUser { // else it is of a tool of Bedrock itself
						is.ToolUseId = aws.String(result(profile.Call{ID: aws.ToString(is.ToolUseId)}).ID)
						p.Content[i] = &types.ContentBlockMemberToolResult{Value: is}
					}
				}
			}
			return p
		},
		Lost: func(c profile.Call, text string) part {
			return part{types.Message{Role: types.ConversationRoleUser, Content: []types.ContentBlock{
				&types.ContentBlockMemberToolResult{Value: types.ToolResultBlock{ToolUseId: aws.String(c.ID), Content: []types.ToolResultContentBlock{
					&types.ToolResultContentBlockMemberText{Value: profile.Failed(text)},
				}}},
			}}, false}
		},
	}
}

// callOf returns the call that a block is.
func callOf(use *types.ToolUseBlock) profile.Call {
	return profile.Call{ID: aws.ToString(use.ToolUseId), Name: aws.ToString(use.Name), Arguments: argumentsOf(use.Input)}
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
	all := slices.Concat(a.Content, b.Content)
	rest := func(block types.ContentBlock) bool { return !isResult(block) }
	return types.Message{Role: a.Role, Content: append(slices.DeleteFunc(slices.Clone(all), rest), slices.DeleteFunc(all, isResult)...)}
}

func hasResults(m types.Message) bool { return slices.ContainsFunc(m.Content, isResult) }

func isResult(block types.ContentBlock) bool {
	_, ok := block.(*types.ContentBlockMemberToolResult)
	return ok
}
