package adaptertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/providercheck"
)

// OpenAIResponses is the wire of OpenAI's Responses API. It keeps the conversations
// for requests with previous_response_id. The zero value is ready for use.
type OpenAIResponses struct {
	mu      sync.Mutex
	count   int
	stored  map[string][]*providercheck.Node // conversations, by the id of their last response
	pending map[*Request]*conversation       // that are not answered yet, with the items before
}

// Read refuses what the API would answer with status 400, unknown fields included.
func (o *OpenAIResponses) Read(r *http.Request, body []byte) (*Request, error) {
	c, err := begin(r, strings.HasSuffix(r.URL.Path, "/responses"), body, "responsesRequest")
	if err != nil {
		return nil, err
	}
	if err := c.responsesTools(); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	items := c.body.Get("input").List()
	if text := c.body.Get("input"); text.Is('"') {
		items = []*providercheck.Node{readObject(object{"role": "user", "content": text.Text})}
	}
	if previous := c.body.Str("previous_response_id"); previous != "" {
		before, ok := o.stored[previous]
		if !ok {
			return nil, fmt.Errorf("previous response %q not found", previous)
		}
		items = slices.Concat(before, items)
	}
	if err := c.responsesItems(items); err != nil {
		return nil, err
	}
	c.body.Members["input"] = &providercheck.Node{Kind: '[', Items: items}
	if o.pending == nil {
		o.pending, o.stored = map[*Request]*conversation{}, map[string][]*providercheck.Node{}
	}
	o.pending[c.Request] = c
	return c.Request, nil
}

// responsesTools reads the tools. Those that are deferred, and those for programs, need a tool
// of the API's own.
func (c *conversation) responsesTools() error {
	needed, own := map[string]bool{}, map[string]bool{}
	err := c.each("tools", func(_ int, t *providercheck.Node) error {
		if kind := t.Str("type"); kind != "function" {
			if own[kind] {
				return fmt.Errorf("a second %s", kind)
			}
			own[kind] = true
			return nil
		}
		for _, caller := range t.Get("allowed_callers").List() {
			needed["programmatic_tool_calling"] = needed["programmatic_tool_calling"] || caller.Says("programmatic")
		}
		needed["tool_search"] = needed["tool_search"] || t.Get("defer_loading").IsTrue()
		return c.declare(t, t, t.Get("parameters"), providercheck.OpenAI)
	})
	for kind, need := range needed {
		if need && !own[kind] && err == nil {
			err = fmt.Errorf("tools are deferred, or for programs, and there is no %s", kind)
		}
	}
	return err
}

// responsesItems reads a conversation. Each call needs one result, behind it and
// before the next thing the user says, and what the model thought before it. A tool that
// was found by a search is in a namespace of its own name.
func (c *conversation) responsesItems(items []*providercheck.Node) error {
	thoughts := map[string]bool{} // ids of responses whose reasoning is there
	found := map[string]bool{}    // names of deferred tools
	callers := map[string]string{}
	for i, item := range items {
		var err error
		id, response := item.Str("call_id"), responseOf(item.Str("id"))
		caller := ""
		if at := item.Get("caller"); at != nil {
			caller = at.Write()
		}
		switch item.Str("type") {
		case "message", "":
			text, media, bad := content(item.Get("content"), responsesMedia)
			if err = errors.Join(c.answered(), bad); item.Get("role").Says("user") {
				c.said(text, media)
			}
		case "reasoning":
			if i == len(items)-1 || items[i+1].Get("role").Says("user") {
				err = errors.New("an item of type 'reasoning' was provided without its required following item")
			}
			thoughts[response] = true
		case "function_call":
			switch name := item.Str("name"); {
			case item.Str("id") != "" && !thoughts[response]: // one without an id is of no response
				err = fmt.Errorf("call %s was provided without its required reasoning item", item.Str("id"))
			case found[name] && item.Get("namespace") == nil:
				err = fmt.Errorf("no namespace of function_call %q", name)
			default:
				err = c.call(id, name)
			}
			callers[id] = caller
		case "function_call_output":
			text, media, bad := content(item.Get("output"), responsesMedia)
			if err = errors.Join(bad, c.result(Result{CallID: id, Text: text, Media: media}, false)); callers[id] != "" && callers[id] != caller {
				err = fmt.Errorf("the caller of %s is %s, not %s", id, caller, callers[id])
			}
		case "tool_search_output":
			for _, t := range item.Get("tools").List() {
				found[t.Str("name")] = found[t.Str("name")] || t.Get("defer_loading").IsTrue()
			}
		}
		if err != nil {
			return fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	return c.answered()
}

func responsesMedia(part *providercheck.Node) (kind, data string) {
	return cutURL(part.Str("image_url") + part.Str("file_data"))
}

// responseOf returns which response an item belongs to, by its id.
func responseOf(id string) string {
	_, rest, _ := strings.Cut(id, "_")
	number, _, _ := strings.Cut(rest, "_")
	return number
}

// Write answers as the API does, in one piece or as a stream. Before it calls a
// deferred tool, the model has searched for it; a tool that programs alone may call
// is called by a program.
func (o *OpenAIResponses) Write(w http.ResponseWriter, req *Request, reply Reply) {
	o.mu.Lock()
	c := o.pending[req]
	delete(o.pending, req)
	o.count++
	output := c.responsesOutput(o.count, reply)
	id := fmt.Sprintf("resp_%d", o.count)
	if store := c.body.Get("store"); store == nil || store.IsTrue() {
		items := slices.Clone(c.body.Get("input").List())
		for _, item := range output {
			items = append(items, readObject(item))
		}
		o.stored[id] = items
	}
	o.mu.Unlock()
	response := func(status string, output []object) object {
		return object{
			"id": id, "object": "response", "created_at": 1, "model": "scripted", "status": status, "error": nil,
			"incomplete_details": nil, "instructions": nil, "metadata": object{}, "parallel_tool_calls": true,
			"temperature": 1, "top_p": 1, "tool_choice": "auto", "tools": []any{}, "output": output,
			"usage": object{
				"input_tokens": 1, "input_tokens_details": object{"cached_tokens": 0},
				"output_tokens": 1, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 2,
			},
		}
	}
	if !req.Stream {
		writeJSON(w, http.StatusOK, response("completed", output))
		return
	}
	write, sequence := events(w), 0
	event := func(kind string, fields object) {
		fields["type"], fields["sequence_number"] = kind, sequence
		sequence++
		write(kind, fields)
	}
	event("response.created", object{"response": response("in_progress", []object{})})
	for i, item := range output {
		begun := maps.Clone(item)
		begun["status"] = "in_progress"
		delta := func(kind, text string) {
			for _, part := range halves(text) {
				event("response."+kind+".delta", object{"output_index": i, "item_id": item["id"], "content_index": 0, "delta": part})
			}
		}
		kind := item["type"]
		if kind == "function_call" {
			begun["arguments"] = ""
		}
		delete(begun, "content")
		event("response.output_item.added", object{"output_index": i, "item": begun})
		switch kind {
		case "function_call":
			delta("function_call_arguments", item["arguments"].(string))
		case "message":
			delta("output_text", reply.Text)
		}
		event("response.output_item.done", object{"output_index": i, "item": item})
	}
	event("response.completed", object{"response": response("completed", output)})
}

// readObject returns an object of the kit's own as if it were read.
func readObject(o object) *providercheck.Node {
	data, err := json.Marshal(o)
	if err == nil {
		var n *providercheck.Node
		if n, err = providercheck.Read(data); err == nil {
			return n
		}
	}
	panic(err)
}

// responsesOutput returns the items of a response.
func (c *conversation) responsesOutput(number int, reply Reply) []object {
	var output []object
	add := func(prefix string, item object) {
		item["id"] = fmt.Sprintf("%s_%d_%d", prefix, number, len(output))
		output = append(output, item)
	}
	items := c.body.Get("input").List()
	for i, item := range items { // the programs whose calls have all been answered have ended
		if item.Str("type") == "program" && !slices.ContainsFunc(items[i:], func(other *providercheck.Node) bool {
			return other.Str("type") == "program_output" && other.Str("call_id") == item.Str("call_id")
		}) {
			add("po", object{"type": "program_output", "call_id": item.Str("call_id"), "result": "ran", "status": "completed"})
		}
	}
	if len(reply.Calls) > 0 || reply.Thought != "" {
		thought := object{"type": "reasoning", "summary": []any{}}
		if slices.ContainsFunc(c.body.Get("include").List(), func(n *providercheck.Node) bool { return n.Says("reasoning.encrypted_content") }) {
			thought["encrypted_content"] = "secret"
		}
		add("rs", thought)
	}
	for _, call := range reply.Calls {
		item := object{"type": "function_call", "status": "completed", "call_id": call.ID, "name": call.Name, "arguments": string(call.Arguments)}
		for _, t := range c.body.Get("tools").List() {
			if t.Str("name") != call.Name {
				continue
			}
			if t.Get("defer_loading").IsTrue() {
				add("tsc", object{"type": "tool_search_call", "status": "completed", "execution": "server", "arguments": object{"paths": []string{call.Name}}})
				add("tso", object{"type": "tool_search_output", "status": "completed", "execution": "server", "tools": []any{json.RawMessage(t.Write())}})
				item["namespace"] = call.Name
			}
			if callers := t.Get("allowed_callers").List(); len(callers) > 0 && !slices.ContainsFunc(callers, func(c *providercheck.Node) bool { return c.Says("direct") }) {
				program := fmt.Sprintf("prog_%d_%d", number, len(output))
				add("pr", object{"type": "program", "call_id": program, "code": "await tools." + call.Name + "({})", "fingerprint": "opaque"})
				item["caller"] = object{"type": "program", "caller_id": program}
			}
		}
		add("fc", item)
	}
	if reply.Text != "" {
		content := []any{object{"type": "output_text", "text": reply.Text, "annotations": []any{}}}
		add("msg", object{"type": "message", "role": "assistant", "status": "completed", "content": content})
	}
	return output
}

// Refuse answers with the API's form of an error.
func (o *OpenAIResponses) Refuse(w http.ResponseWriter, reason string) {
	OpenAIChat{}.Refuse(w, reason)
}
