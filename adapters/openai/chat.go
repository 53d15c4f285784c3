package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/packages/ssestream"

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
	return profile.OpenAI.WithIDs(calls)
}

// isFunction reports whether a call is that of a function. Some that copy the API leave
// out the type.
func isFunction(c openai.ChatCompletionMessageToolCallUnion) bool {
	return c.Type == "function" || c.Type == ""
}

// Append returns a conversation with more messages behind it, as the API takes it, see
// [profile.Repairer]: such as the [Message] of a choice, the messages of [ChatTurn.Run], or
// what the user says. Messages of the model that say nothing are left out. The messages that
// are given, and what they share memory with, stay as they are.
func Append(conversation []openai.ChatCompletionMessageParamUnion, more ...openai.ChatCompletionMessageParamUnion) []openai.ChatCompletionMessageParamUnion {
	return repairer().Repair(slices.DeleteFunc(slices.Concat(conversation, more), func(m openai.ChatCompletionMessageParamUnion) bool {
		a := m.OfAssistant
		return a != nil && a.Content.OfString.Value == "" && len(a.Content.OfArrayOfContentParts) == 0 && a.Refusal.Value == "" && len(a.ToolCalls) == 0
	}))
}

func repairer() *profile.Repairer[openai.ChatCompletionMessageParamUnion] {
	return &profile.Repairer[openai.ChatCompletionMessageParamUnion]{
		Provider: profile.OpenAI,
		Each: func(m openai.ChatCompletionMessageParamUnion, call, result func(profile.Call) profile.Call) openai.ChatCompletionMessageParamUnion {
			if m.OfTool != nil {
				is := *m.OfTool
				is.ToolCallID = result(profile.Call{ID: is.ToolCallID}).ID
				return openai.ChatCompletionMessageParamUnion{OfTool: &is}
			}
			if len(m.GetToolCalls()) == 0 {
				return m
			}
			said := *m.OfAssistant
			said.ToolCalls = slices.Clone(said.ToolCalls)
			for i := range said.ToolCalls {
				if c := &said.ToolCalls[i]; c.OfFunction != nil {
					is := *c.OfFunction
					back := call(profile.Call{ID: is.ID, Name: is.Function.Name, Arguments: json.RawMessage(is.Function.Arguments)})
					is.ID, is.Function.Name, is.Function.Arguments, c.OfFunction = back.ID, back.Name, string(back.Arguments), &is
				} else if c.OfCustom != nil {
					is := *c.OfCustom
					is.ID, c.OfCustom = call(profile.Call{ID: is.ID}).ID, &is
				}
			}
			return openai.ChatCompletionMessageParamUnion{OfAssistant: &said}
		},
		Lost: func(c profile.Call, text string) openai.ChatCompletionMessageParamUnion {
			return openai.ToolMessage(profile.Failed(text), c.ID)
		},
	}
}

// Message returns the message of a choice for the next request, as the API takes it, see
// [Append], with the members that the SDK has no field for, such as the reasoning that some
// that copy the API want back. The SDK's own ToParam loses these, and calls that do not say
// their type.
func Message(choice openai.ChatCompletionChoice) openai.ChatCompletionMessageParamUnion {
	m := choice.Message.ToAssistantMessageParam()
	extend(&m, choice.Message.RawJSON(), "role", "content", "refusal", "annotations", "audio", "function_call", "tool_calls")
	for i, c := range choice.Message.ToolCalls {
		if isFunction(c) {
			function := &openai.ChatCompletionMessageFunctionToolCallParam{ID: c.ID}
			function.Function.Name, function.Function.Arguments = c.Function.Name, string(argumentsOf(c.Function.Arguments, c.Function.JSON.Arguments))
			extend(function, c.RawJSON(), "id", "type", "function", "custom", "index")
			m.ToolCalls[i].OfFunction = function
		}
	}
	return repairer().Repair([]openai.ChatCompletionMessageParamUnion{{OfAssistant: &m}})[0]
}

// extend gives a part of a message the members of its JSON that the SDK has no field for.
func extend(to interface{ SetExtraFields(map[string]any) }, raw string, known ...string) {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &members) != nil {
		return // it was not read from JSON
	}
	extra := map[string]any{}
	for name, value := range members {
		if string(value) != "null" && !slices.Contains(known, name) {
			extra[name] = value
		}
	}
	if len(extra) > 0 {
		to.SetExtraFields(extra)
	}
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

// Collect reads a stream to its end, closes it, and returns the first choice as the API
// would have sent it in one piece, with what it has that the SDK has no field for. Each, if
// it is not nil, gets every chunk as it comes, for text that a user sees at once.
//
// Use it in place of [openai.ChatCompletionAccumulator], which takes two calls for one if a
// server that copies the API gives them one index.
func Collect(stream *ssestream.Stream[openai.ChatCompletionChunk], each func(openai.ChatCompletionChunk)) (openai.ChatCompletionChoice, error) {
	defer func() { _ = stream.Close() }()
	var choice openai.ChatCompletionChoice
	var pieces profile.Pieces
	any := false
	for stream.Next() {
		chunk := stream.Current()
		if each != nil {
			each(chunk)
		}
		for _, c := range chunk.Choices {
			if c.Index != 0 {
				continue
			}
			any = true
			choice.FinishReason = cmp.Or(c.FinishReason, choice.FinishReason)
			if raw := c.Delta.RawJSON(); raw != "" {
				if err := pieces.Add(json.RawMessage(raw)); err != nil {
					return choice, err
				}
			}
		}
	}
	if err := stream.Err(); err != nil {
		return choice, err
	}
	if !any {
		return choice, errNoChoice
	}
	return choice, json.Unmarshal(pieces.Message(), &choice.Message)
}

var errNoChoice = errors.New("openai: the stream ended before the answer of the model began; make the request again")

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
		text, media := profile.Apart(t.Set().Parts(a.Result))
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
