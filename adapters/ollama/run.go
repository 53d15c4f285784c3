package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ollama/ollama/api"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Collect returns a function for [api.Client.Chat] that puts the pieces of an answer
// together in a message, whether the answer is streamed or not.
func Collect(message *api.Message) api.ChatResponseFunc {
	return func(piece api.ChatResponse) error {
		m := piece.Message
		if m.Role != "" {
			message.Role = m.Role
		}
		message.Content += m.Content
		message.Thinking += m.Thinking
		message.Images = append(message.Images, m.Images...)
		message.ToolCalls = append(message.ToolCalls, m.ToolCalls...)
		return nil
	}
}

// Run makes the calls of a message of the model, see [profile.Turn.Run], and returns
// the messages that go into the next request behind it, in the order of the calls. If
// a call waits for a person, there are none yet: the error is a
// [*profile.WaitingError] then. If ctx ends, Run returns its error, and the messages
// all the same, so that the conversation can go on.
//
// The message is whole, as [Collect] makes it, or that of a response which was not
// streamed.
func (t *Turn) Run(ctx context.Context, message api.Message) ([]api.Message, error) {
	var calls []profile.Call
	for _, c := range message.ToolCalls {
		args, err := json.Marshal(c.Function.Arguments)
		if err != nil {
			return nil, fmt.Errorf("ollama: the arguments of the call of %q: %w", c.Function.Name, err)
		}
		calls = append(calls, profile.Call{ID: c.ID, Name: c.Function.Name, Arguments: args})
	}
	if len(calls) == 0 {
		return nil, nil
	}
	answers, err := t.Turn.Run(ctx, calls)
	var waiting *profile.WaitingError
	if errors.As(err, &waiting) {
		return nil, err
	}
	return t.Results(answers...), err
}

// Results returns the answers to all calls of a message as messages for the next
// request, such as those that [profile.Turn.Wait] has returned. Images are in messages
// of the user behind all others, one for each: some models take no two in one.
func (t *Turn) Results(answers ...profile.Answer) []api.Message {
	var messages, images []api.Message
	for _, a := range answers {
		text, media := profile.Apart(t.Parts(a.Result))
		messages = append(messages, api.Message{Role: "tool", Content: unmark(text), ToolName: a.Call.Name, ToolCallID: a.Call.ID})
		for _, m := range media {
			images = append(images, api.Message{Role: "user", Content: unmark(m.Text), Images: []api.ImageData{m.Data}})
		}
	}
	return append(messages, images...)
}

var imageMark = regexp.MustCompile(`\[img(?:-[0-9]+)?\]`)

// unmark takes the marks out of a text for which the server looks for an image.
func unmark(text string) string {
	if !strings.Contains(text, "[img") {
		return text
	}
	return imageMark.ReplaceAllStringFunc(text, func(mark string) string { return "[ " + mark[1:] })
}
