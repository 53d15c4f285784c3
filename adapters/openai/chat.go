package openai

import (
	"context"
	"encoding/json"
	"net/url"
	"path"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Calls returns the calls of functions in a choice of the model, in their order.
// Those of custom tools are not among them.
func (t *ChatTurn) Calls(choice openai.ChatCompletionChoice) []profile.Call {
	var calls []profile.Call
	for i, c := range choice.Message.ToolCalls {
		if !isFunction(c) {
			continue
		}
		call := profile.Call{ID: c.ID, Name: c.Function.Name, Arguments: argumentsOf(c.Function.Arguments, c.Function.JSON.Arguments)}
		last := i == len(choice.Message.ToolCalls)-1
		call.Incomplete = last && cutOff(choice.FinishReason) && !json.Valid(call.Arguments)
		calls = append(calls, call)
	}
	return calls
}

// isFunction reports whether a call is that of a function. Some that copy the API leave
// out the type.
func isFunction(c openai.ChatCompletionMessageToolCallUnion) bool {
	return c.Type == "function" || c.Type == ""
}

// Message returns the message of a choice for the next request, see [profile.Object].
// The SDK's own ToParam loses calls that do not say their type.
func Message(choice openai.ChatCompletionChoice) openai.ChatCompletionMessageParamUnion {
	m := choice.Message.ToAssistantMessageParam()
	for i, c := range choice.Message.ToolCalls {
		if isFunction(c) {
			m.ToolCalls[i].OfFunction = &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: c.ID,
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name:      c.Function.Name,
					Arguments: profile.Object(argumentsOf(c.Function.Arguments, c.Function.JSON.Arguments)),
				},
			}
		}
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &m}
}

// argumentsOf returns the arguments of a call. They are JSON in a string; some that copy
// the API send the JSON itself, which must not be taken for no arguments.
func argumentsOf(text string, field respjson.Field) json.RawMessage {
	if raw := field.Raw(); text == "" && raw != "" && raw != "null" && raw != `""` {
		return json.RawMessage(raw)
	}
	return json.RawMessage(text)
}

// cutOff reports whether a model was stopped before it was done. A choice without a
// reason is that of a stream which broke off.
func cutOff(reason string) bool {
	return reason == "length" || reason == "content_filter" || reason == ""
}

// Run makes the calls of functions in a choice of the model, see [profile.Turn.Run],
// and returns the messages that go into the next request behind its [Message], in the
// order of the calls. If a call waits for a person, there are none yet: the error is
// a [*profile.WaitingError] then. If ctx ends, Run returns its error, and the messages
// all the same, so that the conversation can go on.
//
// The choice may be that of an [openai.ChatCompletionAccumulator] when the stream has
// ended. Of a message alone make a choice, with its FinishReason: without one, a last
// call without arguments counts as cut off.
func (t *ChatTurn) Run(ctx context.Context, choice openai.ChatCompletionChoice) ([]openai.ChatCompletionMessageParamUnion, error) {
	answers, err := t.Turn.Run(ctx, t.Calls(choice))
	return t.Results(answers...), err
}

// Results returns the answers to all calls of a message as messages for the next
// request, such as those that [profile.Turn.Wait] has returned. Images and files are
// in one message of the user, behind all others.
func (t *ChatTurn) Results(answers ...profile.Answer) []openai.ChatCompletionMessageParamUnion {
	var messages []openai.ChatCompletionMessageParamUnion
	var attached []openai.ChatCompletionContentPartUnionParam
	for _, a := range answers {
		text, media := profile.Apart(t.Parts(a.Result))
		messages = append(messages, openai.ToolMessage(text, a.Call.ID))
		for _, m := range media {
			attached = append(attached, openai.TextContentPart(m.Text), chatPart(m))
		}
	}
	if attached != nil {
		messages = append(messages, openai.UserMessage(attached))
	}
	return messages
}

// chatPart returns data as part of a message of the user.
func chatPart(p profile.Part) openai.ChatCompletionContentPartUnionParam {
	if strings.HasPrefix(p.Type, "image/") {
		return openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: p.DataURL()})
	}
	return openai.FileContentPart(openai.ChatCompletionContentPartFileFileParam{
		Filename: openai.String(fileName(p)), FileData: openai.String(p.DataURL()),
	})
}

// fileName returns what a file is called, which the API wants to know: the last part
// of its address, if that is a name of such a file.
func fileName(p profile.Part) string {
	const plain = "file.pdf" // it takes no files of other types
	u, err := url.Parse(p.URI)
	if err != nil {
		return plain
	}
	name := path.Base(u.Path)
	odd := strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '/' || r == '\\' || r == 0x7f || r == 0xfffd })
	if odd || len(name) > 255 || !strings.EqualFold(path.Ext(name), ".pdf") || len(name) == len(".pdf") {
		return plain
	}
	return name
}
