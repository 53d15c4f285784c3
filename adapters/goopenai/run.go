package goopenai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

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
	answers, err := t.Turn.Run(ctx, t.Calls(choice))
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
	return profile.OpenAI.WithIDs(calls)
}

// Append returns a conversation with more messages behind it, as the API takes it, see
// [profile.Repairer]: such as the [Message] of a choice, the messages of [Turn.Run], or what
// the user says. Messages of the model that say nothing are left out. The messages that are
// given, and what they share memory with, stay as they are.
func Append(conversation []openai.ChatCompletionMessage, more ...openai.ChatCompletionMessage) []openai.ChatCompletionMessage {
	return repairer().Repair(slices.DeleteFunc(slices.Concat(conversation, more), func(m openai.ChatCompletionMessage) bool {
		return m.Role == openai.ChatMessageRoleAssistant && m.Content == "" && m.MultiContent == nil && m.Refusal == "" && m.ToolCalls == nil
	}))
}

func repairer() *profile.Repairer[openai.ChatCompletionMessage] {
	return &profile.Repairer[openai.ChatCompletionMessage]{
		Provider: profile.OpenAI,
		Each: func(m openai.ChatCompletionMessage, call, result func(profile.Call) profile.Call) openai.ChatCompletionMessage {
			if m.Role == openai.ChatMessageRoleTool {
				m.ToolCallID = result(profile.Call{ID: m.ToolCallID}).ID
				return m
			}
			m.ToolCalls = slices.Clone(m.ToolCalls)
			for i := range m.ToolCalls {
				c := &m.ToolCalls[i]
				back := call(profile.Call{ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)})
				c.Index, c.ID = nil, back.ID // of a stream
				c.Type = cmp.Or(c.Type, openai.ToolTypeFunction)
				if c.Type == openai.ToolTypeFunction {
					c.Function.Name, c.Function.Arguments = back.Name, string(back.Arguments)
				}
			}
			return m
		},
		Lost: func(c profile.Call, text string) openai.ChatCompletionMessage {
			return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: c.ID, Content: profile.Failed(text)}
		},
	}
}

// Message returns the message of a choice for the next request, as the API takes it, see
// [Append]. The choice does not change.
func Message(choice openai.ChatCompletionChoice) openai.ChatCompletionMessage {
	m := choice.Message
	m.Role = cmp.Or(m.Role, openai.ChatMessageRoleAssistant)
	return repairer().Repair([]openai.ChatCompletionMessage{m})[0]
}

// Collect reads a stream to its end, closes it, and returns the first choice as the API would
// have sent it in one piece. Each, if it is not nil, gets every chunk as it comes, for text
// that a user sees at once.
func Collect(stream *openai.ChatCompletionStream, each func(openai.ChatCompletionStreamResponse)) (choice openai.ChatCompletionChoice, err error) {
	defer func() { _ = stream.Close() }()
	var pieces profile.Pieces
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return choice, json.Unmarshal(pieces.Message(), &choice.Message)
		}
		if err != nil {
			return choice, err
		}
		if each != nil {
			each(chunk)
		}
		for _, c := range chunk.Choices {
			if c.Index != 0 {
				continue
			}
			choice.FinishReason = cmp.Or(c.FinishReason, choice.FinishReason)
			delta, err := json.Marshal(c.Delta)
			if err == nil {
				err = pieces.Add(delta)
			}
			if err != nil {
				return choice, err
			}
		}
	}
}

// Results returns the answers to all calls of a message as messages for the next
// request, such as those that [profile.Turn.Wait] has returned. Images are in one
// message of the user, behind all others.
func (t *Turn) Results(answers ...profile.Answer) []openai.ChatCompletionMessage {
	var messages []openai.ChatCompletionMessage
	var images []openai.ChatMessagePart
	for _, a := range answers {
		text, media := profile.Apart(profile.Images(t.Set().Parts(a.Result)))
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
