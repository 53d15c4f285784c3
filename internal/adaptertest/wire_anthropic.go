package adaptertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/providercheck"
)

// Anthropic is the wire of the Messages API and of its beta.
type Anthropic struct{}

// NameLimit is how many bytes the name of a tool may have.
func (Anthropic) NameLimit() int { return 128 }

type anthropicRequest struct {
	Model     string             `json:"model"`
	MaxTokens int                `json:"max_tokens"`
	Messages  []anthropicMessage `json:"messages"`
	System    json.RawMessage    `json:"system"`
	Tools     []json.RawMessage  `json:"tools"`
	Stream    bool               `json:"stream"`
	Betas     json.RawMessage    `json:"betas"`

	Temperature  json.RawMessage `json:"temperature"`
	ToolChoice   json.RawMessage `json:"tool_choice"`
	Thinking     json.RawMessage `json:"thinking"`
	CacheControl json.RawMessage `json:"cache_control"`
	Container    json.RawMessage `json:"container"`
}

type anthropicMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type anthropicTool struct {
	Type           string          `json:"type"`
	Name           string          `json:"name"`
	Description    *string         `json:"description"`
	InputSchema    json.RawMessage `json:"input_schema"`
	Strict         bool            `json:"strict"`
	DeferLoading   bool            `json:"defer_loading"`
	AllowedCallers []string        `json:"allowed_callers"`
	InputExamples  []any           `json:"input_examples"`
	CacheControl   json.RawMessage `json:"cache_control"`
}

// An anthropicReader reads one request.
type anthropicReader struct {
	*Request
	breakpoints int
	ids         map[string]bool   // of all calls so far
	open        map[string]string // names of the calls of the last message, by id
	begun       map[string]bool   // calls of the API's own that have no result
}

var (
	anthropicID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
)

// Read refuses what the API would answer with status 400.
func (Anthropic) Read(r *http.Request, body []byte) (*Request, error) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" {
		return nil, fmt.Errorf("no such endpoint: %s %s", r.Method, r.URL.Path)
	}
	if r.Header.Get("Anthropic-Version") == "" {
		return nil, errors.New("the header anthropic-version is required")
	}
	// Versions of the API before 2026-10-21 take the key in a header of its own.
	if r.Header.Get("X-Api-Key") == "" && !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
		return nil, errors.New("the header authorization or x-api-key is required")
	}
	var in anthropicRequest
	if err := decodeAll(body, &in); err != nil {
		return nil, err
	}
	if in.Model == "" || in.MaxTokens < 1 || len(in.Messages) == 0 {
		return nil, errors.New("model, max_tokens and messages are required")
	}
	if in.Betas != nil {
		return nil, errors.New("betas: Extra inputs are not permitted")
	}
	a := &anthropicReader{Request: &Request{Stream: in.Stream}, ids: map[string]bool{}, begun: map[string]bool{}}
	if err := a.tools(in.Tools); err != nil {
		return nil, err
	}
	if err := a.messages(in.Messages); err != nil {
		return nil, err
	}
	if a.breakpoints > 4 {
		return nil, fmt.Errorf("a maximum of 4 blocks with cache_control may be provided, found %d", a.breakpoints)
	}
	return a.Request, nil
}

// decodeAll decodes JSON, and refuses members that are not known.
func decodeAll(data []byte, v any) error {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func (a *anthropicReader) tools(tools []json.RawMessage) error {
	search, deferred, plain := false, false, false
	for i, raw := range tools {
		var t anthropicTool
		if err := decodeAll(raw, &t); err != nil {
			return fmt.Errorf("tools.%d: %w", i, err)
		}
		if t.CacheControl != nil {
			a.breakpoints++
		}
		if strings.HasPrefix(t.Type, "tool_search_tool_") {
			if t.Name != strings.TrimSuffix(t.Type, "_20251119") || t.DeferLoading {
				return fmt.Errorf("tools.%d: a search tool %+v", i, t)
			}
			search = true
			continue
		}
		if err := a.tool(t, raw); err != nil {
			return fmt.Errorf("tools.%d: %w", i, err)
		}
		deferred, plain = deferred || t.DeferLoading, plain || !t.DeferLoading
	}
	if deferred && !search && !plain {
		return errors.New("at least one tool must have defer_loading=false")
	}
	if deferred && !search {
		return errors.New("tools are deferred, and there is no tool search tool")
	}
	return nil
}

// tool adds a tool.
func (a *anthropicReader) tool(t anthropicTool, raw []byte) error {
	if t.DeferLoading && t.CacheControl != nil {
		return fmt.Errorf("tool %q cannot have both defer_loading=true and cache_control set", t.Name)
	}
	told := Tool{Name: t.Name, Schema: t.InputSchema, Deferred: t.DeferLoading}
	if t.Description != nil {
		told.Description = *t.Description
	}
	return a.declare(told, providercheck.Anthropic(raw))
}

// Refuse answers with the API's form of an error.
func (Anthropic) Refuse(w http.ResponseWriter, reason string) {
	writeJSON(w, http.StatusBadRequest, map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": reason}})
}

// Write answers as the API does, in one piece or in events.
func (Anthropic) Write(w http.ResponseWriter, req *Request, reply Reply) {
	reason := "end_turn"
	var content []map[string]any
	if reply.Text != "" {
		content = append(content, map[string]any{"type": "text", "text": reply.Text})
	}
	for _, c := range reply.Calls {
		content = append(content, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.Arguments, "caller": map[string]any{"type": "direct"}})
		reason = "tool_use"
	}
	message := map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": content,
		"stop_reason": reason, "stop_sequence": nil, "usage": map[string]any{"input_tokens": 1, "output_tokens": 1},
	}
	if !req.Stream {
		writeJSON(w, http.StatusOK, message)
		return
	}
	write := events(w)
	event := func(kind string, members map[string]any) {
		members["type"] = kind
		write(kind, members)
	}
	message["content"], message["stop_reason"] = []any{}, nil
	event("message_start", map[string]any{"message": message})
	event("ping", map[string]any{})
	for i, block := range content {
		var deltas []map[string]any
		if text, ok := block["text"].(string); ok {
			for _, part := range halves(text) {
				deltas = append(deltas, map[string]any{"type": "text_delta", "text": part})
			}
			block["text"] = ""
		} else {
			for _, part := range append([]string{""}, halves(string(block["input"].(json.RawMessage)))...) {
				deltas = append(deltas, map[string]any{"type": "input_json_delta", "partial_json": part})
			}
			block["input"] = map[string]any{}
		}
		event("content_block_start", map[string]any{"index": i, "content_block": block})
		for _, delta := range deltas {
			event("content_block_delta", map[string]any{"index": i, "delta": delta})
		}
		event("content_block_stop", map[string]any{"index": i})
	}
	event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": reason, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": 1}})
	event("message_stop", map[string]any{})
}
