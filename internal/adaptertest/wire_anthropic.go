package adaptertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/providercheck"
)

// Anthropic is the wire of the Messages API and of its beta.
type Anthropic struct{}

// NameLimit is how many bytes the name of a tool may have.
func (Anthropic) NameLimit() int { return 128 }

// Read refuses what the API would answer with status 400.
func (Anthropic) Read(r *http.Request, body []byte) (*Request, error) {
	if r.Header.Get("Anthropic-Version") == "" {
		return nil, errors.New("the header anthropic-version is required")
	}
	// Versions of the API before 2026-10-21 take the key in a header of its own.
	if r.Header.Get("X-Api-Key") == "" && !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
		return nil, errors.New("the header authorization or x-api-key is required")
	}
	c, err := begin(r, r.URL.Path == "/v1/messages", body, "anthropicRequest")
	if err != nil {
		return nil, err
	}
	begun := map[string]bool{} // calls of the API's own that have no result
	err = errors.Join(c.anthropicTools(), c.each("messages", func(_ int, m *providercheck.Node) error {
		if !m.Get("role").Says("user") {
			return c.anthropicAssistant(m.Get("content").List(), begun)
		}
		return c.anthropicUser(m.Get("content"), begun)
	}), c.answered())
	if err == nil && len(c.ids) > 0 && c.body.Get("tools") == nil {
		err = errors.New("requests which include `tool_use` or `tool_result` blocks must define tools")
	}
	if n := strings.Count(c.body.Write(), `"cache_control":`); n > 4 {
		err = fmt.Errorf("a maximum of 4 blocks with cache_control may be provided, found %d", n)
	}
	return c.Request, err
}

// InvokeModel is the wire of a model of Anthropic's on Amazon Bedrock: the name of the model is
// in the path, and the version of the API in the body. The signature of a request is not checked.
type InvokeModel struct{ Anthropic }

// Read refuses what the API would answer with status 400.
func (w InvokeModel) Read(r *http.Request, body []byte) (*Request, error) {
	if !strings.HasPrefix(r.URL.Path, "/model/") || !strings.HasSuffix(r.URL.Path, "/invoke") {
		return nil, fmt.Errorf("no such endpoint: %s", r.URL)
	}
	r.URL.Path = "/v1/messages"
	r.Header.Set("Anthropic-Version", "2023-06-01")
	r.Header.Set("X-Api-Key", r.Header.Get("Authorization"))
	return w.Anthropic.Read(r, bytes.Replace(body, []byte(`"anthropic_version":"bedrock-2023-05-31"`), []byte(`"model":"scripted"`), 1))
}

func (c *conversation) anthropicTools() error {
	search := false
	err := c.each("tools", func(_ int, t *providercheck.Node) error {
		if kind := t.Str("type"); strings.HasPrefix(kind, "tool_search_tool_") {
			if search = true; t.Str("name") != strings.TrimSuffix(kind, "_20251119") || t.Get("defer_loading").IsTrue() {
				return fmt.Errorf("a search tool %s", t.Write())
			}
			return nil
		}
		return c.declare(t, t, t.Get("input_schema"), providercheck.Anthropic)
	})
	if err == nil && !search && slices.ContainsFunc(c.Tools, func(t Tool) bool { return t.Deferred }) {
		err = errors.New("tools are deferred, and there is no tool search tool")
	}
	return err
}

func (c *conversation) anthropicAssistant(blocks []*providercheck.Node, begun map[string]bool) error {
	if err := c.answered(); err != nil {
		return err
	}
	if n := len(blocks); n > 0 && strings.HasSuffix(blocks[n-1].Str("type"), "thinking") {
		return errors.New("the final block in an assistant message cannot be `thinking`")
	}
	for _, b := range blocks {
		delete(begun, b.Str("tool_use_id"))
		delete(begun, b.Get("caller").Str("tool_id"))
		switch b.Str("type") {
		case "tool_use":
			if err := c.call(b.Str("id"), b.Str("name")); err != nil {
				return err
			}
		case "tool_search_tool_result":
			for _, found := range b.Get("content").Get("tool_references").List() {
				if name := found.Str("tool_name"); !slices.ContainsFunc(c.Tools, func(t Tool) bool { return t.Name == name }) {
					return fmt.Errorf("the tool %q that was found is not among the tools", name)
				}
			}
		case "server_tool_use":
			begun[b.Str("id")] = true
		}
	}
	return nil
}

// anthropicUser reads a message of the user, which has the results of calls first.
func (c *conversation) anthropicUser(said *providercheck.Node, begun map[string]bool) error {
	results := 0
	for i, b := range said.List() {
		if !b.Get("type").Says("tool_result") {
			continue
		}
		if results++; results <= i {
			return errors.New("tool_result blocks stand before all others")
		}
		text, media, err := content(b.Get("content"), anthropicMedia)
		if err == nil {
			err = c.result(Result{CallID: b.Str("tool_use_id"), Text: text, Media: media, Failed: b.Get("is_error").IsTrue()}, false)
		}
		if err != nil {
			return err
		}
	}
	if err := c.answered(); err != nil || said.Is('[') && results == len(said.Items) {
		return err
	}
	if len(begun) > 0 {
		return fmt.Errorf("`server_tool_use` ids were found without a corresponding result: %v", begun)
	}
	rest := *said
	rest.Items = rest.Items[min(results, len(rest.Items)):]
	text, media, err := content(&rest, anthropicMedia)
	c.Media = append(c.Media, media...)
	if text != "" {
		c.Users = append(c.Users, text)
	}
	return err
}

func anthropicMedia(b *providercheck.Node) (kind, data string) {
	return b.Get("source").Str("media_type"), b.Get("source").Str("data")
}

// Refuse answers with the API's form of an error.
func (Anthropic) Refuse(w http.ResponseWriter, reason string) {
	writeJSON(w, http.StatusBadRequest, object{"type": "error", "error": object{"type": "invalid_request_error", "message": reason}})
}

// Write answers as the API does, in one piece or in events.
func (Anthropic) Write(w http.ResponseWriter, req *Request, reply Reply) {
	reason := "end_turn"
	var content []object
	think := func(signature string) {
		content = append(content, object{"type": "thinking", "thinking": "hm", "signature": signature})
	}
	switch reply.Thought {
	case "whole":
		think("signed")
	case "redacted":
		content = append(content, object{"type": "redacted_thinking", "data": "c2VjcmV0"})
	}
	if reply.Text != "" {
		content = append(content, object{"type": "text", "text": reply.Text})
	}
	if reply.Thought == "cut" {
		reason = "max_tokens"
		think("")
	}
	for _, c := range reply.Calls {
		content = append(content, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.Arguments, "caller": object{"type": "direct"}})
		reason = "tool_use"
	}
	message := object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": content,
		"stop_reason": reason, "stop_sequence": nil, "usage": object{"input_tokens": 1, "output_tokens": 1},
	}
	if !req.Stream {
		writeJSON(w, http.StatusOK, message)
		return
	}
	write := events(w)
	event := func(kind string, members object) {
		members["type"] = kind
		write(kind, members)
	}
	message["content"], message["stop_reason"] = []any{}, nil
	event("message_start", object{"message": message})
	event("ping", object{})
	for i, block := range content {
		var deltas []object
		if text, ok := block["text"].(string); ok {
			for _, part := range halves(text) {
				deltas = append(deltas, object{"type": "text_delta", "text": part})
			}
			block["text"] = ""
		} else if thought, ok := block["thinking"]; ok {
			deltas = []object{{"type": "thinking_delta", "thinking": thought}}
			if block["signature"] != "" {
				deltas = append(deltas, object{"type": "signature_delta", "signature": block["signature"]})
			}
			block["thinking"], block["signature"] = "", ""
		} else if block["type"] == "tool_use" {
			for _, part := range append([]string{""}, halves(string(block["input"].(json.RawMessage)))...) {
				deltas = append(deltas, object{"type": "input_json_delta", "partial_json": part})
			}
			block["input"] = object{}
		}
		event("content_block_start", object{"index": i, "content_block": block})
		for _, delta := range deltas {
			event("content_block_delta", object{"index": i, "delta": delta})
		}
		event("content_block_stop", object{"index": i})
	}
	event("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": 1}})
	event("message_stop", object{})
}
