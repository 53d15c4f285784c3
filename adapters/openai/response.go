package openai

import (
	"context"
	"encoding/json"
	"slices"
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
	return profile.OpenAI.WithIDs(calls)
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
		said := responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: openai.String(t.structured(a))}
		if said.OfString.Value == "" {
			said = responseOutput(t.Set().Parts(a.Result))
		}
		items = append(items, output(a.Call, said))
	}
	return items
}

// output returns the result of a call.
func output(c profile.Call, said responses.ResponseInputItemFunctionCallOutputOutputUnionParam) responses.ResponseInputItemUnionParam {
	out := &responses.ResponseInputItemFunctionCallOutputParam{CallID: openai.String(c.ID), Output: said}
	if c.Caller != nil {
		out.Caller = param.Override[responses.ResponseInputItemFunctionCallOutputCallerUnionParam](c.Caller)
	}
	return responses.ResponseInputItemUnionParam{OfFunctionCallOutput: out}
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
	if !slices.ContainsFunc(parts, func(p profile.Part) bool { return p.Data != nil }) {
		text, _ := profile.Apart(parts)
		return responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: openai.String(text)}
	}
	var list responses.ResponseFunctionCallOutputItemListParam
	for _, p := range parts {
		var item responses.ResponseFunctionCallOutputItemUnionParam
		switch {
		case p.Data == nil:
			item.OfInputText = &responses.ResponseInputTextContentParam{Text: p.Text}
		case strings.HasPrefix(p.Type, "image/"):
			item.OfInputImage = &responses.ResponseInputImageContentParam{ImageURL: openai.String(p.DataURL())}
		default:
			item.OfInputFile = &responses.ResponseInputFileContentParam{Filename: openai.String(fileName(p)), FileData: openai.String(p.DataURL())}
		}
		list = append(list, item)
	}
	return responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfResponseFunctionCallOutputItemArray: list}
}

// Input returns the output of a response as input of the next request, for
// conversations that the API does not keep: messages, reasoning, searches, programs
// and calls, as they came, but for what the API does not take back, see
// [AppendInput]. Reasoning that nothing came of, such as at the limit of
// tokens, is left out: the API does not take it. Without Store, ask for
// reasoning.encrypted_content with each request, for reasoning cannot be sent back
// otherwise.
func Input(r *responses.Response) []responses.ResponseInputItemUnionParam {
	if r == nil {
		return nil
	}
	var items []responses.ResponseInputItemUnionParam
	for _, item := range profile.Sendable(r.Output, func(item responses.ResponseOutputItemUnion) (thought, empty bool) {
		return item.Type == "reasoning", false
	}) {
		items = append(items, asInput(item))
	}
	return AppendInput(nil, items...)
}

// asInput takes from an item of an output what is not taken as input: what is null or
// says who has made it, and arguments that are no string.
func asInput(item responses.ResponseOutputItemUnion) responses.ResponseInputItemUnionParam {
	changes := map[string]any{"created_by": nil}
	if item.Type == "function_call" {
		changes["arguments"] = string(argumentsOf(item.Arguments.OfString, item.JSON.Arguments))
	}
	return changed(json.RawMessage(item.RawJSON()), changes)
}

// changed returns an item with other members, and without those that are null. One that has
// neither stays as it is, byte by byte.
func changed(raw json.RawMessage, changes map[string]any) responses.ResponseInputItemUnionParam {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) == nil {
		same := true
		for name, value := range changes {
			data, err := json.Marshal(value)
			if err == nil && string(members[name]) != string(data) && (value != nil || members[name] != nil) {
				members[name], same = data, false
			}
		}
		for name, value := range members {
			if string(value) == "null" {
				delete(members, name)
				same = false
			}
		}
		if data, err := json.Marshal(members); err == nil && !same {
			raw = data
		}
	}
	return param.Override[responses.ResponseInputItemUnionParam](raw)
}

// AppendInput returns a conversation that the API does not keep with more items behind it, as
// the API takes it, see [profile.Repairer]: such as the [Input] of a response, the items of
// [ResponseTurn.Run], or what the user says. The items that are given stay as they are.
func AppendInput(conversation []responses.ResponseInputItemUnionParam, more ...responses.ResponseInputItemUnionParam) []responses.ResponseInputItemUnionParam {
	// What a model wrote between two results or messages of others is one message.
	var messages [][]responses.ResponseInputItemUnionParam
	begun := false
	for _, item := range slices.Concat(conversation, more) {
		is := memberOf(item)
		model := is.Type != "function_call_output" && (is.Role == "" || is.Role == "assistant")
		if last := len(messages) - 1; begun && model {
			messages[last] = append(messages[last], item)
		} else {
			messages = append(messages, []responses.ResponseInputItemUnionParam{item})
		}
		begun = model
	}
	return slices.Concat(inputRepairer().Repair(messages)...)
}

func inputRepairer() *profile.Repairer[[]responses.ResponseInputItemUnionParam] {
	return &profile.Repairer[[]responses.ResponseInputItemUnionParam]{
		Provider: profile.OpenAI,
		Each: func(items []responses.ResponseInputItemUnionParam, call, result func(profile.Call) profile.Call) []responses.ResponseInputItemUnionParam {
			items = slices.Clone(items)
			for i, item := range items {
				var changes map[string]any
				switch is := memberOf(item); is.Type {
				case "function_call":
					back := call(profile.Call{ID: is.CallID, Name: is.Name, Arguments: json.RawMessage(is.Arguments), Caller: is.Caller})
					changes = map[string]any{"call_id": back.ID, "name": back.Name, "arguments": string(back.Arguments)}
				case "function_call_output":
					changes = map[string]any{"call_id": result(profile.Call{ID: is.CallID}).ID}
				default:
					continue
				}
				if raw, err := json.Marshal(item); err == nil {
					items[i] = changed(raw, changes)
				}
			}
			return items
		},
		Lost: func(c profile.Call, text string) []responses.ResponseInputItemUnionParam {
			return []responses.ResponseInputItemUnionParam{output(c, responses.ResponseInputItemFunctionCallOutputOutputUnionParam{
				OfString: openai.String(profile.Failed(text)),
			})}
		},
	}
}

// members are what matters of an item.
type members struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Caller    json.RawMessage `json:"caller"`
}

// memberOf reads an item, of which only calls and results matter if it is of the SDK's types.
func memberOf(item responses.ResponseInputItemUnionParam) members {
	var is members
	_, override := item.Overrides()
	if override || item.OfFunctionCall != nil || item.OfFunctionCallOutput != nil {
		if raw, err := json.Marshal(item); err == nil {
			_ = json.Unmarshal(raw, &is)
		}
	} else if role := item.GetRole(); role != nil {
		is.Role = *role
	}
	return is
}
