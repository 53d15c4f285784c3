package langchaingo

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Run makes the calls of a response, see [profile.Turn.Run], and returns the messages
// that go into the next request, as [Turn.Messages] does. If a call waits for a person,
// there are none yet: the error is a [*profile.WaitingError] then. If ctx ends, Run
// returns its error, and the messages all the same, so that the conversation can go on.
func (t *Turn) Run(ctx context.Context, response *llms.ContentResponse) ([]llms.MessageContent, error) {
	answers, err := t.Turn.Run(ctx, t.Calls(response))
	return t.Messages(response, answers...), err
}

// Calls returns the calls in a response, in their order. A program with functions of its
// own beside those of the registry takes its calls out, gives the others to
// [profile.Turn.Run], and all answers to [Turn.Messages].
func (t *Turn) Calls(response *llms.ContentResponse) []profile.Call {
	var calls []profile.Call
	var end *llms.ContentChoice
	for _, choice := range t.choices(response) {
		for _, c := range whole(choice.ToolCalls) {
			if c.FunctionCall != nil {
				calls = append(calls, profile.Call{ID: c.ID, Name: c.FunctionCall.Name, Arguments: json.RawMessage(c.FunctionCall.Arguments)})
			}
		}
		end = choice
	}
	if len(calls) > 0 {
		last := &calls[len(calls)-1]
		broken := (cutOff(end) || end.StopReason == "") && !json.Valid(last.Arguments)
		last.Incomplete = broken || cutOff(end) && t.blocks() && len(end.ToolCalls) > 0
	}
	return t.Set().Provider().WithIDs(calls)
}

// whole returns the calls that a model made. In a stream, langchaingo makes a call without
// a name of a piece whose arguments are empty, and gives that the pieces behind it.
func whole(pieces []llms.ToolCall) []llms.ToolCall {
	var calls []llms.ToolCall
	for _, c := range pieces {
		last := len(calls) - 1
		if c.FunctionCall == nil || c.ID != "" || c.FunctionCall.Name != "" || last < 0 || calls[last].FunctionCall == nil {
			calls = append(calls, c)
			continue
		}
		f := *calls[last].FunctionCall // the response stays as it is
		f.Arguments += c.FunctionCall.Arguments
		calls[last].FunctionCall = &f
	}
	return calls
}

// cutOff reports whether the model was stopped before it was done. Without a reason a
// stream may have broken off.
func cutOff(choice *llms.ContentChoice) bool {
	return slices.Contains([]string{"length", "content_filter", "max_tokens", "model_context_window_exceeded", "finishreasonmaxtokens"}, strings.ToLower(choice.StopReason))
}

// choices returns those that are one message of the model. Of OpenAI and Gemini the
// choices are alternatives, and the first counts; of Anthropic's models langchaingo
// makes a choice of each block.
func (t *Turn) choices(response *llms.ContentResponse) []*llms.ContentChoice {
	var all []*llms.ContentChoice
	if response == nil {
		return nil
	}
	for _, choice := range response.Choices {
		if choice != nil {
			all = append(all, choice)
		}
	}
	if !t.blocks() {
		all = all[:min(1, len(all))]
	}
	return all
}

// blocks reports whether langchaingo's package for the provider makes a choice of each
// block of an answer, and sends nothing but the first part of a message.
func (t *Turn) blocks() bool {
	return t.Set().Provider() == profile.Anthropic || t.Set().Provider() == profile.Bedrock
}

// Messages returns the message of the model that a response is, and the answers to all
// of its calls, such as those that [profile.Turn.Wait] has returned, for the next
// request; nil if there are none. Images are in one message of the user, behind all
// others.
func (t *Turn) Messages(response *llms.ContentResponse, answers ...profile.Answer) []llms.MessageContent {
	if len(answers) == 0 {
		return nil
	}
	said := llms.MessageContent{Role: llms.ChatMessageTypeAI}
	var texts []string
	for _, choice := range t.choices(response) {
		if strings.TrimSpace(choice.Content) != "" {
			texts = append(texts, choice.Content)
		}
	}
	if texts != nil {
		said.Parts = append(said.Parts, llms.TextPart(strings.Join(texts, "\n")))
	}
	var messages, results []llms.MessageContent
	var images []llms.ContentPart
	for _, a := range answers {
		call := llms.ToolCall{ID: a.Call.ID, Type: "function", FunctionCall: &llms.FunctionCall{Name: a.Call.Name, Arguments: string(a.Call.Arguments)}}
		text, media := t.parts(a, true)
		result := llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{
			llms.ToolCallResponse{ToolCallID: a.Call.ID, Name: a.Call.Name, Content: text},
		}}
		if t.blocks() {
			// One call, and its result, at a time: more in one message are lost.
			results = append(results, llms.MessageContent{Role: said.Role, Parts: []llms.ContentPart{call}})
		} else {
			said.Parts = append(said.Parts, call)
		}
		results = append(results, result)
		for _, m := range media {
			images = append(images, llms.TextPart(m.Text), t.image(m))
		}
	}
	if said.Parts != nil {
		messages = append(messages, said)
	}
	messages = append(messages, results...)
	if images != nil {
		messages = append(messages, llms.MessageContent{Role: llms.ChatMessageTypeHuman, Parts: images})
	}
	return t.Append(messages)
}

// Append returns a conversation with more messages behind it, as the provider takes it, see
// [profile.Repairer]: such as those of [Turn.Run], or what the user says. Blank texts of the
// model, and messages in which it says nothing, are left out. The messages that are given, and
// what they share memory with, stay as they are.
func (t *Turn) Append(conversation []llms.MessageContent, more ...llms.MessageContent) []llms.MessageContent {
	r := &profile.Repairer[llms.MessageContent]{
		Provider: t.Set().Provider(),
		Each: func(m llms.MessageContent, call, result func(profile.Call) profile.Call) llms.MessageContent {
			m.Parts = slices.Clone(m.Parts)
			for i, p := range m.Parts {
				switch p := p.(type) {
				case llms.ToolCall:
					p.FunctionCall = cmp.Or(p.FunctionCall, &llms.FunctionCall{})
					back := call(profile.Call{ID: p.ID, Name: p.FunctionCall.Name, Arguments: json.RawMessage(p.FunctionCall.Arguments)})
					p.ID, p.FunctionCall = back.ID, &llms.FunctionCall{Name: back.Name, Arguments: string(back.Arguments)}
					m.Parts[i] = p
				case llms.ToolCallResponse:
					of := result(profile.Call{ID: p.ToolCallID, Name: p.Name})
					p.ToolCallID, p.Name = of.ID, of.Name
					m.Parts[i] = p
				}
			}
			return m
		},
		Lost: func(c profile.Call, text string) llms.MessageContent {
			return llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{
				llms.ToolCallResponse{ToolCallID: c.ID, Name: c.Name, Content: profile.Failed(text)},
			}}
		},
	}
	var all []llms.MessageContent
	for _, m := range slices.Concat(conversation, more) {
		if m.Role == llms.ChatMessageTypeAI {
			m.Parts = profile.Sendable(m.Parts, func(p llms.ContentPart) (thought, empty bool) {
				text, ok := p.(llms.TextContent)
				return false, ok && strings.TrimSpace(text.Text) == ""
			})
		}
		if m.Role == llms.ChatMessageTypeTool {
			for _, p := range m.Parts {
				all = append(all, llms.MessageContent{Role: m.Role, Parts: []llms.ContentPart{p}})
			}
		} else if m.Role != llms.ChatMessageTypeAI || len(m.Parts) > 0 {
			all = append(all, m)
		}
	}
	all = r.Repair(all)
	if t.Set().Provider() != profile.Gemini {
		return all
	}
	// Gemini takes the results of one message together, and googleai does not join them.
	var joined []llms.MessageContent
	for _, m := range all {
		if last := len(joined) - 1; m.Role == llms.ChatMessageTypeTool && last >= 0 && joined[last].Role == m.Role {
			joined[last].Parts = slices.Concat(joined[last].Parts, m.Parts)
		} else {
			joined = append(joined, m)
		}
	}
	return joined
}

// parts returns an answer as the text, and the media if they are wanted, for which
// langchaingo has places.
func (t *Turn) parts(a profile.Answer, wanted bool) (text string, media []profile.Part) {
	parts := t.Set().Parts(a.Result)
	if t.Set().Provider() != profile.Gemini {
		parts = profile.Images(parts)
	}
	for i := range parts {
		if !wanted {
			parts[i].Data = nil
		}
	}
	text, media = profile.Apart(parts)
	if a.Result.IsError {
		text = profile.Failed(text)
	}
	return text, media
}

// image returns data in the one of langchaingo's two forms that its package for the
// provider takes.
func (t *Turn) image(m profile.Part) llms.ContentPart {
	switch t.Set().Provider() {
	case profile.OpenAI, profile.OpenAIStrict:
		return llms.ImageURLPart(m.DataURL())
	}
	return llms.BinaryPart(m.Type, m.Data)
}
