package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ollama/ollama/api"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Collect returns a function for [api.Client.Chat] that puts the pieces of an answer
// together in a message, whether the answer is streamed or not. The message stays as it
// is until the last piece is there: the SDK does not tell that a stream broke off.
func Collect(message *api.Message) api.ChatResponseFunc {
	whole := api.Message{Role: "assistant"}
	return func(piece api.ChatResponse) error {
		m := piece.Message
		if m.Role != "" {
			whole.Role = m.Role
		}
		whole.Content += m.Content
		whole.Thinking += m.Thinking
		whole.Images = append(whole.Images, m.Images...)
		whole.ToolCalls = append(whole.ToolCalls, m.ToolCalls...)
		if piece.Done {
			*message = whole
		}
		return nil
	}
}

// ErrBrokenOff reports that [Turn.Run] got a message without anything, not even a role:
// the connection ended before the answer did. Ask again.
//
//cure:ask the model again
var ErrBrokenOff = errors.New("ollama: the answer broke off before its end; ask again")

// Run makes the calls of a message of the model, see [profile.Turn.Run], and returns
// the messages that go into the next request behind it, in the order of the calls. If
// a call waits for a person, there are none yet: the error is a
// [*profile.WaitingError] then. If ctx ends, Run returns its error, and the messages
// all the same, so that the conversation can go on.
//
// The message is whole, as [Collect] makes it, or that of a response which was not
// streamed. If there is nothing in it, the error is that of ctx or [ErrBrokenOff].
func (t *Turn) Run(ctx context.Context, message api.Message) ([]api.Message, error) {
	if message.Role == "" && message.Content == "" && len(message.ToolCalls) == 0 {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, ErrBrokenOff
	}
	calls, err := t.Calls(message)
	if err != nil {
		return nil, err
	}
	answers, err := t.Turn.Run(ctx, calls)
	return t.Results(answers...), err
}

// Calls returns the calls in a message of the model, in their order. A program with
// functions of its own beside those of the registry takes its calls out, gives the
// others to [profile.Turn.Run], and all answers to [Turn.Results].
func (t *Turn) Calls(message api.Message) ([]profile.Call, error) {
	var calls []profile.Call
	for _, c := range message.ToolCalls {
		args, err := json.Marshal(c.Function.Arguments)
		if err != nil {
			return nil, fmt.Errorf("ollama: the arguments of the call of %q: %w", c.Function.Name, err)
		}
		calls = append(calls, profile.Call{ID: c.ID, Name: c.Function.Name, Arguments: args})
	}
	return profile.Ollama.WithIDs(calls), nil
}

// Append returns a conversation with more messages behind it, as the server takes it, see
// [profile.Repairer]: such as the message of the model, the messages of [Turn.Run], or what
// the user says. Messages of the model that say nothing are left out. The messages that are
// given, and what they share memory with, stay as they are.
func Append(conversation []api.Message, more ...api.Message) []api.Message {
	return repairer().Repair(slices.DeleteFunc(slices.Concat(conversation, more), func(m api.Message) bool {
		return m.Role == "assistant" && strings.TrimSpace(m.Content) == "" && len(m.ToolCalls) == 0
	}))
}

func repairer() *profile.Repairer[api.Message] {
	return &profile.Repairer[api.Message]{
		Provider: profile.Ollama,
		Each: func(m api.Message, call, result func(profile.Call) profile.Call) api.Message {
			if m.Role == "tool" {
				of := result(profile.Call{ID: m.ToolCallID, Name: m.ToolName})
				m.ToolCallID, m.ToolName = of.ID, of.Name
				return m
			}
			m.ToolCalls = slices.Clone(m.ToolCalls)
			for i := range m.ToolCalls {
				c := &m.ToolCalls[i]
				back := call(profile.Call{ID: c.ID, Name: c.Function.Name})
				c.ID, c.Function.Name = back.ID, back.Name
			}
			return m
		},
		Lost: func(c profile.Call, text string) api.Message {
			return api.Message{Role: "tool", Content: profile.Failed(text), ToolName: c.Name, ToolCallID: c.ID}
		},
	}
}

// Results returns the answers to all calls of a message as messages for the next
// request, such as those that [profile.Turn.Wait] has returned. Images are in messages
// of the user behind all others, one for each: some models take no two in one.
func (t *Turn) Results(answers ...profile.Answer) []api.Message {
	var messages, images []api.Message
	for _, a := range answers {
		text, media := profile.Apart(t.Set().Parts(a.Result))
		messages = append(messages, api.Message{Role: "tool", Content: unmark(text), ToolName: a.Call.Name, ToolCallID: a.Call.ID})
		for _, m := range media {
			images = append(images, api.Message{Role: "user", Content: unmark(m.Text), Images: []api.ImageData{m.Data}})
		}
	}
	return append(messages, images...)
}

var (
	imageMark  = regexp.MustCompile(`\[img(?:-[0-9]+)?\]`)
	jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
)

// unmark takes the marks out of a text for which the server looks for an image.
func unmark(text string) string {
	if !strings.Contains(text, "[img") {
		return text
	}
	return imageMark.ReplaceAllStringFunc(text, func(mark string) string { return "[ " + mark[1:] })
}

// unmarkJSON does so in all strings of a JSON text, also where they are names and values.
func unmarkJSON(raw json.RawMessage) json.RawMessage {
	return jsonString.ReplaceAllFunc(raw, func(quoted []byte) []byte {
		var text string
		if json.Unmarshal(quoted, &text) != nil || unmark(text) == text {
			return quoted
		}
		changed, err := json.Marshal(unmark(text))
		if err != nil {
			return quoted
		}
		return changed
	})
}
