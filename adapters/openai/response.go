package openai

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// Calls returns the calls of functions in a response, in their order: those of the
// model and those of its programs. Calls of custom tools and of functions in a
// namespace are not among them, nor is what the API has run itself, such as a search
// for tools. There are none in a response that failed, that was cancelled, or that is
// not over, for it cannot be gone on with.
func (t *ResponseTurn) Calls(r *responses.Response) []profile.Call {
	if r == nil || r.Status != "" && r.Status != responses.ResponseStatusCompleted && r.Status != responses.ResponseStatusIncomplete {
		return nil
	}
	var calls []profile.Call
	for i, item := range r.Output {
		// A deferred function that the API has found is in a namespace of its own name.
		if item.Type != "function_call" || item.Namespace != "" && item.Namespace != item.Name {
			continue
		}
		call := profile.Call{ID: item.CallID, Name: item.Name, Arguments: argumentsOf(item.Arguments.OfString, item.JSON.Arguments), Caller: callerOf(item)}
		last := i == len(r.Output)-1
		call.Incomplete = item.Status == "incomplete" || item.Status == "in_progress" ||
			last && r.Status == responses.ResponseStatusIncomplete && !json.Valid(call.Arguments)
		calls = append(calls, call)
	}
	return calls
}

// callerOf returns who makes a call, as the API wants it back; nil if it does not say.
func callerOf(item responses.ResponseOutputItemUnion) json.RawMessage {
	if raw := item.JSON.Caller.Raw(); raw != "" && raw != "null" {
		return json.RawMessage(raw)
	}
	return nil
}

// Run makes the calls of functions in a response, see [profile.Turn.Run], and returns
// the items that go into the next request: alone with its PreviousResponseID, or
// behind [Input]. They are in the order of the calls. If a call waits for a person,
// there are none yet: the error is a [*profile.WaitingError] then. If ctx ends, Run
// returns its error, and the items all the same, so that the conversation can go on.
//
// Of a stream, give it the response of its last event, which is response.completed or
// response.incomplete.
func (t *ResponseTurn) Run(ctx context.Context, r *responses.Response) ([]responses.ResponseInputItemUnionParam, error) {
	answers, err := t.Turn.Run(ctx, t.Calls(r))
	return t.Results(answers...), err
}

// Results returns the answers to calls as items for the next request, such as those
// that [profile.Turn.Wait] has returned. A program gets the structured content alone
// of a tool that says what is in it.
func (t *ResponseTurn) Results(answers ...profile.Answer) []responses.ResponseInputItemUnionParam {
	var items []responses.ResponseInputItemUnionParam
	for _, a := range answers {
		out := &responses.ResponseInputItemFunctionCallOutputParam{CallID: openai.String(a.Call.ID)}
		if a.Call.Caller != nil {
			out.Caller = param.Override[responses.ResponseInputItemFunctionCallOutputCallerUnionParam](a.Call.Caller)
		}
		if text := t.structured(a); text != "" {
			out.Output.OfString = openai.String(text)
		} else {
			out.Output = responseOutput(t.Parts(a.Result))
		}
		items = append(items, responses.ResponseInputItemUnionParam{OfFunctionCallOutput: out})
	}
	return items
}

// structured returns the structured content of the result that a program gets, if the
// API was told its schema; otherwise "".
func (t *ResponseTurn) structured(a profile.Answer) string {
	var caller struct{ Type string }
	tool, ok := t.Set().Lookup(a.Call.Name)
	if !ok || tool.OutputSchema == nil || a.Result.IsError || json.Unmarshal(a.Call.Caller, &caller) != nil || caller.Type != "program" {
		return ""
	}
	return result.Text(&mcp.CallToolResult{StructuredContent: a.Result.StructuredContent})
}

// responseOutput returns the parts of a result as the output of a function.
func responseOutput(parts []profile.Part) responses.ResponseInputItemFunctionCallOutputOutputUnionParam {
	var (
		texts []string
		list  responses.ResponseFunctionCallOutputItemListParam
		data  bool
	)
	for _, p := range parts {
		var item responses.ResponseFunctionCallOutputItemUnionParam
		switch {
		case p.Data == nil:
			texts = append(texts, p.Text)
			item.OfInputText = &responses.ResponseInputTextContentParam{Text: p.Text}
		case strings.HasPrefix(p.Type, "image/"):
			data = true
			item.OfInputImage = &responses.ResponseInputImageContentParam{ImageURL: openai.String(p.DataURL())}
		default:
			data = true
			item.OfInputFile = &responses.ResponseInputFileContentParam{Filename: openai.String(fileName(p)), FileData: openai.String(p.DataURL())}
		}
		list = append(list, item)
	}
	if !data {
		return responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: openai.String(strings.Join(texts, "\n"))}
	}
	return responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfResponseFunctionCallOutputItemArray: list}
}

// Input returns the output of a response as input of the next request, for
// conversations that the API does not keep: messages, reasoning, searches, programs
// and calls, as they came. Reasoning that nothing came of, such as at the limit of
// tokens, is left out: the API does not take it. Arguments that are no JSON object are
// {}, see [profile.Object]. Without Store, ask for
// reasoning.encrypted_content with each request, for reasoning cannot be sent back
// otherwise.
func Input(r *responses.Response) []responses.ResponseInputItemUnionParam {
	if r == nil {
		return nil
	}
	output := r.Output
	for len(output) > 0 && output[len(output)-1].Type == "reasoning" {
		output = output[:len(output)-1]
	}
	var items []responses.ResponseInputItemUnionParam
	for _, item := range output {
		items = append(items, param.Override[responses.ResponseInputItemUnionParam](asInput(item)))
	}
	return items
}

// asInput takes from an item of an output what is not taken as input: what is null or
// says who has made it, and arguments that are none, see [profile.Object].
func asInput(item responses.ResponseOutputItemUnion) json.RawMessage {
	raw := json.RawMessage(item.RawJSON())
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return raw
	}
	before := len(members)
	for name, value := range members {
		if name == "created_by" || string(value) == "null" {
			delete(members, name)
		}
	}
	arguments := item.Arguments.OfString
	if item.Type == "function_call" {
		arguments = profile.Object(argumentsOf(arguments, item.JSON.Arguments))
	}
	if len(members) == before && arguments == item.Arguments.OfString {
		return raw
	}
	if item.Type == "function_call" {
		members["arguments"], _ = json.Marshal(arguments)
	}
	data, err := json.Marshal(members)
	if err != nil {
		return raw
	}
	return data
}
