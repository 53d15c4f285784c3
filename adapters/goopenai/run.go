package goopenai

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Run makes the calls of a choice of the model, see [profile.Turn.Run], and returns
// the messages that go into the next request behind its [Message], in the order of the
// calls. If a call waits for a person, there are none yet: the error is a
// [*profile.WaitingError] then. If ctx ends, Run returns its error, and the messages
// all the same, so that the conversation can go on.
//
// The choice may be that of a stream, put together, with the reason for which it ended:
// a last call that was cut off is not made. Without a reason the stream broke off, and
// a last call without arguments counts as cut off.
func (t *Turn) Run(ctx context.Context, choice openai.ChatCompletionChoice) ([]openai.ChatCompletionMessage, error) {
	calls := t.Calls(choice)
	answers, err := t.Turn.Run(ctx, calls)
	return t.Results(answers...), err
}

// Calls returns the calls of functions in a choice of the model, in their order. A
// program with functions of its own beside those of the registry takes its calls out,
// gives the others to [profile.Turn.Run], and all answers to [Turn.Results].
func (t *Turn) Calls(choice openai.ChatCompletionChoice) []profile.Call {
	reason := choice.FinishReason
	cut := reason == openai.FinishReasonLength || reason == openai.FinishReasonContentFilter || reason == ""
	var calls []profile.Call
	for i, c := range choice.Message.ToolCalls {
		if c.Type != openai.ToolTypeFunction && c.Type != "" {
			continue
		}
		call := profile.Call{ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)}
		call.Incomplete = cut && i == len(choice.Message.ToolCalls)-1 && !json.Valid(call.Arguments)
		calls = append(calls, call)
	}
	return calls
}

// Message returns the message of a choice for the next request, see [profile.Object].
// Go-openai itself leaves out arguments that are empty, without which the API refuses the
// conversation. The choice does not change.
func Message(choice openai.ChatCompletionChoice) openai.ChatCompletionMessage {
	m := choice.Message
	m.Role = cmp.Or(m.Role, openai.ChatMessageRoleAssistant)
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		c.Index = nil // of a stream
		c.Type = cmp.Or(c.Type, openai.ToolTypeFunction)
		if c.Type == openai.ToolTypeFunction {
			c.Function.Arguments = profile.Object(json.RawMessage(c.Function.Arguments))
		}
	}
	return m
}

// Results returns the answers to all calls of a message as messages for the next
// request, such as those that [profile.Turn.Wait] has returned. Images are in one
// message of the user, behind all others.
func (t *Turn) Results(answers ...profile.Answer) []openai.ChatCompletionMessage {
	var messages []openai.ChatCompletionMessage
	var images []openai.ChatMessagePart
	for _, a := range answers {
		parts := t.Parts(a.Result)
		for i, p := range parts {
			if !strings.HasPrefix(p.Type, "image/") {
				parts[i].Data = nil
			}
		}
		text, media := profile.Apart(parts)
		messages = append(messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: a.Call.ID, Content: text})
		for _, m := range media {
			images = append(images,
				openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: m.Text},
				openai.ChatMessagePart{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{
					URL: m.DataURL(),
				}})
		}
	}
	if images != nil {
		messages = append(messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, MultiContent: images})
	}
	return messages
}
