package adaptertest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/providercheck"
)

// OpenAIChat is the wire of OpenAI's Chat Completions API, which many others copy.
type OpenAIChat struct{}

type chatRequest struct {
	Model    string             `json:"model"`
	Messages []chatMessage      `json:"messages"`
	Stream   bool               `json:"stream"`
	Tools    *[]json.RawMessage `json:"tools"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function *struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []chatCall      `json:"tool_calls"`
}

type chatCall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string  `json:"name,omitempty"`
		Arguments *string `json:"arguments"`
	} `json:"function"`
}

type chatPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
	File struct {
		Filename string `json:"filename"`
		FileData string `json:"file_data"`
	} `json:"file"`
}

// Read refuses what the API would answer with status 400.
func (OpenAIChat) Read(r *http.Request, body []byte) (*Request, error) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		return nil, fmt.Errorf("no such endpoint: %s %s", r.Method, r.URL.Path)
	}
	var in chatRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	if in.Model == "" || len(in.Messages) == 0 {
		return nil, errors.New("model and messages are required")
	}
	req := &Request{Stream: in.Stream}
	if in.Tools != nil {
		if len(*in.Tools) == 0 || len(*in.Tools) > 128 {
			return nil, fmt.Errorf("there are %d tools, not 1 to 128", len(*in.Tools))
		}
		for _, raw := range *in.Tools {
			var t chatTool
			if err := json.Unmarshal(raw, &t); err != nil {
				return nil, fmt.Errorf("a tool: %w", err)
			}
			if t.Function == nil {
				return nil, fmt.Errorf("a tool of type %q", t.Type)
			}
			told := Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters}
			if err := req.declare(told, providercheck.OpenAIChat(raw)); err != nil {
				return nil, err
			}
		}
	}
	return req, readChat(req, in.Messages)
}

// readChat reads the messages. Each call must be answered behind its message, before
// anything else is said.
func readChat(req *Request, messages []chatMessage) error {
	open := map[string]string{} // names of calls without a result, by id
	for i, m := range messages {
		if m.Role != "tool" && len(open) > 0 {
			return fmt.Errorf("messages[%d]: calls without a result: %v", i, open)
		}
		texts, media, err := readChatContent(m.Role, m.Content)
		if err != nil {
			return fmt.Errorf("messages[%d].content: %w", i, err)
		}
		switch m.Role {
		case "system", "developer":
		case "user":
			// The message behind results with media is not the user's.
			if len(media) == 0 {
				req.Users = append(req.Users, strings.Join(texts, "\n"))
			}
			req.Media = append(req.Media, media...)
		case "assistant":
			if len(texts) == 0 && len(m.ToolCalls) == 0 {
				return fmt.Errorf("messages[%d]: neither content nor tool_calls", i)
			}
			for _, c := range m.ToolCalls {
				if c.ID == "" || c.Type != "function" || open[c.ID] != "" || !providercheck.OpenAIName.MatchString(c.Function.Name) {
					return fmt.Errorf("messages[%d]: the call %q of %q, of type %q", i, c.ID, c.Function.Name, c.Type)
				}
				if c.Function.Arguments == nil {
					return fmt.Errorf("missing required parameter: messages[%d].tool_calls.function.arguments", i)
				}
				open[c.ID] = c.Function.Name
			}
		case "tool":
			name, ok := open[m.ToolCallID]
			if !ok {
				return fmt.Errorf("messages[%d]: the result of no call: %q", i, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			req.Results = append(req.Results, Result{CallID: m.ToolCallID, Name: name, Text: strings.Join(texts, "\n")})
		default:
			return fmt.Errorf("messages[%d]: role %q", i, m.Role)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("calls without a result: %v", open)
	}
	return nil
}

func readChatContent(role string, content json.RawMessage) (texts []string, media []Media, err error) {
	if len(content) == 0 || string(content) == "null" {
		if role == "assistant" {
			return nil, nil, nil
		}
		return nil, nil, errors.New("is missing")
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		if role != "assistant" && strings.TrimSpace(text) == "" {
			return nil, nil, errors.New("is blank")
		}
		return []string{text}, nil, nil
	}
	var parts []chatPart
	if err := json.Unmarshal(content, &parts); err != nil || len(parts) == 0 {
		return nil, nil, fmt.Errorf("is neither text nor parts: %s", content)
	}
	for _, p := range parts {
		switch {
		case p.Type == "text" && strings.TrimSpace(p.Text) == "":
			return nil, nil, errors.New("has a blank text")
		case p.Type == "text":
			texts = append(texts, p.Text)
		case role != "user":
			return nil, nil, fmt.Errorf("%s in a message of role %s", p.Type, role)
		case p.Type == "image_url":
			m, err := dataURL(p.ImageURL.URL, "image/png", "image/jpeg", "image/gif", "image/webp")
			if err != nil {
				return nil, nil, err
			}
			media = append(media, m)
		case p.Type == "file" && p.File.Filename != "":
			m, err := dataURL(p.File.FileData, "application/pdf")
			if err != nil {
				return nil, nil, err
			}
			media = append(media, m)
		default:
			return nil, nil, fmt.Errorf("a part %q", p.Type)
		}
	}
	return texts, media, nil
}

// dataURL reads a data URL whose bytes are of one of the types, and of the one that
// it says.
func dataURL(url string, types ...string) (Media, error) {
	rest, ok := strings.CutPrefix(url, "data:")
	kind, text, found := strings.Cut(rest, ";base64,")
	if !ok || !found {
		return Media{}, errors.New("no data URL in base64")
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return Media{}, err
	}
	return mediaOf(kind, data, types...)
}

// mediaOf refuses data whose bytes are not of the type that is said, or of none of
// the types.
func mediaOf(kind string, data []byte, types ...string) (Media, error) {
	if !slices.Contains(types, kind) {
		return Media{}, fmt.Errorf("media of type %q", kind)
	}
	if seen := http.DetectContentType(data); seen != kind {
		return Media{}, fmt.Errorf("media of type %s that is %s", kind, seen)
	}
	return Media{Type: kind, Data: data}, nil
}

// Write answers as the API does, in one piece or in chunks.
func (OpenAIChat) Write(w http.ResponseWriter, req *Request, reply Reply) {
	reason := "stop"
	message := map[string]any{"role": "assistant", "content": nil}
	if reply.Text != "" {
		message["content"] = reply.Text
	}
	var calls []chatCall
	for i, c := range reply.Calls {
		call := chatCall{ID: c.ID, Type: "function"}
		if req.Stream {
			call.Index = &i
		}
		args := string(c.Arguments)
		call.Function.Name, call.Function.Arguments = c.Name, &args
		calls = append(calls, call)
	}
	if calls != nil {
		message["tool_calls"], reason = calls, "tool_calls"
	}
	if !req.Stream {
		writeJSON(w, http.StatusOK, map[string]any{
			"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "scripted",
			"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": reason}},
			"usage":   map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
		})
		return
	}
	deltas := []any{map[string]any{"role": "assistant", "content": reply.Text}}
	for _, c := range calls {
		parts := halves(*c.Function.Arguments)
		rest := chatCall{Index: c.Index}
		c.Function.Arguments, rest.Function.Arguments = &parts[0], &parts[1]
		deltas = append(deltas, map[string]any{"tool_calls": []chatCall{c}}, map[string]any{"tool_calls": []chatCall{rest}})
	}
	write := events(w)
	chunk := func(delta any, reason any) {
		write("", map[string]any{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}},
		})
	}
	for _, delta := range deltas {
		chunk(delta, nil)
	}
	chunk(map[string]any{}, reason)
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

// Refuse answers with the API's form of an error.
func (OpenAIChat) Refuse(w http.ResponseWriter, reason string) {
	writeJSON(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"message": reason, "type": "invalid_request_error", "param": nil, "code": nil}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}
