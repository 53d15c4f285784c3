package adaptertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// Write answers as the API does, in one piece or as a stream. Before it calls a
// deferred tool, the model has searched for it; a tool that programs alone may call
// is called by a program.
func (o *OpenAIResponses) Write(w http.ResponseWriter, req *Request, reply Reply) {
	o.mu.Lock()
	call := o.pending[req]
	delete(o.pending, req)
	o.count++
	number := o.count
	output := call.output(number, reply)
	id := fmt.Sprintf("resp_%d", number)
	if call.store {
		o.stored[id] = append(slices.Clip(call.items), output...)
	}
	o.mu.Unlock()
	response := func(status string, output []responseItem) map[string]any {
		return map[string]any{
			"id": id, "object": "response", "created_at": 1, "model": "scripted", "status": status, "error": nil,
			"incomplete_details": nil, "instructions": nil, "metadata": map[string]any{}, "parallel_tool_calls": true,
			"temperature": 1, "top_p": 1, "tool_choice": "auto", "tools": []any{}, "output": output,
			"usage": map[string]any{
				"input_tokens": 1, "input_tokens_details": map[string]any{"cached_tokens": 0},
				"output_tokens": 1, "output_tokens_details": map[string]any{"reasoning_tokens": 0}, "total_tokens": 2,
			},
		}
	}
	if !req.Stream {
		writeJSON(w, http.StatusOK, response("completed", output))
		return
	}
	write, sequence := events(w), 0
	event := func(kind string, fields map[string]any) {
		fields["type"], fields["sequence_number"] = kind, sequence
		sequence++
		write(kind, fields)
	}
	event("response.created", map[string]any{"response": response("in_progress", []responseItem{})})
	for i, item := range output {
		begun := item
		begun.Status, begun.Content = "in_progress", nil
		if item.Type == "function_call" {
			begun.Arguments = json.RawMessage(`""`)
		}
		event("response.output_item.added", map[string]any{"output_index": i, "item": begun})
		kind, text := item.delta()
		for _, part := range halves(text) {
			if kind != "" {
				event(kind, map[string]any{"output_index": i, "item_id": item.ID, "content_index": 0, "delta": part})
			}
		}
		event("response.output_item.done", map[string]any{"output_index": i, "item": item})
	}
	event("response.completed", map[string]any{"response": response("completed", output)})
}

// delta returns what a stream has of an item in pieces, and the kind of their events.
func (item *responseItem) delta() (kind, text string) {
	switch item.Type {
	case "function_call":
		kind = "response.function_call_arguments.delta"
		_ = json.Unmarshal(item.Arguments, &text)
	case "message":
		var parts []responsePart
		_ = json.Unmarshal(item.Content, &parts)
		kind, text = "response.output_text.delta", parts[0].Text
	}
	return kind, text
}

// output returns the items of a response.
func (r *responseRequest) output(number int, reply Reply) []responseItem {
	var output []responseItem
	add := func(item responseItem, kind string) {
		item.ID = fmt.Sprintf("%s_%d_%d", kind, number, len(output))
		output = append(output, item)
	}
	for i, item := range r.items { // the programs whose calls have all been answered have ended
		if item.Type == "program" && !slices.ContainsFunc(r.items[i:], func(other responseItem) bool {
			return other.Type == "program_output" && other.CallID == item.CallID
		}) {
			add(responseItem{Type: "program_output", CallID: item.CallID, Result: "ran", Status: "completed"}, "po")
		}
	}
	if len(reply.Calls) > 0 {
		add(responseItem{Type: "reasoning", Summary: json.RawMessage(`[]`), Encrypted: "secret"}, "rs")
	}
	for _, c := range reply.Calls {
		text, _ := json.Marshal(string(c.Arguments))
		item := responseItem{Type: "function_call", Status: "completed", CallID: c.ID, Name: c.Name, Arguments: text}
		if at := slices.IndexFunc(r.tools, func(t responseTool) bool { return t.Name == c.Name }); at >= 0 {
			t := r.tools[at]
			if t.DeferLoading {
				add(responseItem{Type: "tool_search_call", Status: "completed", Execution: "server", Arguments: json.RawMessage(`{"paths":["` + c.Name + `"]}`)}, "tsc")
				add(responseItem{Type: "tool_search_output", Status: "completed", Execution: "server", Tools: []responseTool{t}}, "tso")
				item.Namespace = c.Name
			}
			if t.programs() {
				program := fmt.Sprintf("prog_%d_%d", number, len(output))
				add(responseItem{Type: "program", CallID: program, Code: "await tools." + c.Name + "({})", Print: "opaque"}, "pr")
				item.Caller = &responseCaller{Type: "program", CallerID: program}
			}
		}
		add(item, "fc")
	}
	if reply.Text != "" {
		content, _ := json.Marshal([]any{map[string]any{"type": "output_text", "text": reply.Text, "annotations": []any{}}})
		add(responseItem{Type: "message", Role: "assistant", Status: "completed", Content: content}, "msg")
	}
	return output
}

// Refuse answers with the API's form of an error.
func (o *OpenAIResponses) Refuse(w http.ResponseWriter, reason string) {
	OpenAIChat{}.Refuse(w, reason)
}
