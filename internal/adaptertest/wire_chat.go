package adaptertest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/providercheck"
)

// OpenAIChat is the wire of OpenAI's Chat Completions API, which many others copy.
type OpenAIChat struct{}

// Read refuses what the API would answer with status 400. Each call must be answered behind its
// message, before anything else is said.
func (OpenAIChat) Read(r *http.Request, body []byte) (*Request, error) {
	c, err := begin(r, strings.HasSuffix(r.URL.Path, "/chat/completions"), body, "chatRequest")
	if err != nil {
		return nil, err
	}
	err = errors.Join(c.each("tools", func(_ int, t *providercheck.Node) error {
		f := t.Get("function")
		return c.declare(t, f, f.Get("parameters"), providercheck.OpenAIChat)
	}), c.each("messages", func(_ int, m *providercheck.Node) error {
		text, media, err := content(m.Get("content"), chatMedia)
		if m.Get("role").Says("tool") {
			return errors.Join(err, c.result(Result{CallID: m.Str("tool_call_id"), Text: text}, false))
		}
		if err = errors.Join(err, c.answered()); err != nil {
			return err
		}
		switch m.Str("role") {
		case "user":
			c.said(text, media)
		case "assistant":
			for _, call := range m.Get("tool_calls").List() {
				if strings.HasPrefix(call.Str("id"), thoughtOf) && m.Str("reasoning_content") == "" {
					err = errors.New("missing reasoning_content field in the assistant message")
				}
				err = errors.Join(err, c.call(call.Str("id"), call.Get("function").Str("name")))
			}
		}
		return err
	}), c.answered())
	return c.Request, err
}

// thoughtOf begins the ids of the calls of models that want back what they thought before.
const thoughtOf = "thought_"

func chatMedia(part *providercheck.Node) (kind, data string) {
	return cutURL(part.Get("image_url").Str("url") + part.Get("file").Str("file_data"))
}

// Write answers as the API does, in one piece or in chunks.
func (OpenAIChat) Write(w http.ResponseWriter, req *Request, reply Reply) {
	reason := "stop"
	var calls []object
	for i, c := range reply.Calls {
		reason = "tool_calls"
		calls = append(calls, object{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": string(c.Arguments)}})
	}
	if !req.Stream {
		message := object{"role": "assistant", "content": nil}
		if reply.Text != "" {
			message["content"] = reply.Text
		}
		if reply.Thought != "" {
			message["reasoning_content"] = "hm"
		}
		if calls != nil {
			message["tool_calls"] = calls
		}
		writeJSON(w, http.StatusOK, object{
			"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "scripted",
			"choices": []any{object{"index": 0, "message": message, "finish_reason": reason}},
			"usage":   object{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
		})
		return
	}
	write := events(w)
	chunk := func(delta object, reason any) {
		write("", object{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": reason}},
		})
	}
	chunk(object{"role": "assistant", "content": reply.Text}, nil)
	if reply.Thought != "" {
		chunk(object{"reasoning_content": "h"}, nil)
		chunk(object{"reasoning_content": "m"}, nil)
	}
	for i, c := range calls {
		at := i
		if reply.OneIndex {
			at = 0
		}
		c["index"] = at
		parts := halves(string(reply.Calls[i].Arguments))
		c["function"].(object)["arguments"] = parts[0]
		chunk(object{"tool_calls": []object{c}}, nil)
		chunk(object{"tool_calls": []object{{"index": at, "function": object{"arguments": parts[1]}}}}, nil)
	}
	chunk(object{}, reason)
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

// Refuse answers with the API's form of an error.
func (OpenAIChat) Refuse(w http.ResponseWriter, reason string) {
	writeJSON(w, http.StatusBadRequest, object{"error": object{"message": reason, "type": "invalid_request_error", "param": nil, "code": nil}})
}
