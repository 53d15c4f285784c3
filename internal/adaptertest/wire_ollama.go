package adaptertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Ollama is the wire of the chat API of Ollama. Its server refuses little, and drops
// what it does not know; this one refuses what would be dropped.
type Ollama struct {
	// WithoutIDs is a server before calls had ids.
	WithoutIDs bool
}

type ollamaRequest struct {
	Model    string          `json:"model"`
	Messages []ollamaMessage `json:"messages"`
	Stream   *bool           `json:"stream"`
	Tools    []ollamaTool    `json:"tools"`
}

type ollamaMessage struct {
	Role       string       `json:"role"`
	Content    string       `json:"content"`
	Thinking   string       `json:"thinking,omitempty"`
	Images     [][]byte     `json:"images,omitempty"`
	ToolCalls  []ollamaCall `json:"tool_calls,omitempty"`
	ToolName   string       `json:"tool_name,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
}

type ollamaCall struct {
	ID       string `json:"id,omitempty"`
	Function struct {
		Index     int             `json:"index"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type ollamaTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

var (
	ollamaName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	// ollamaMark is where the server puts an image, whoever wrote it.
	ollamaMark = regexp.MustCompile(`\[img(-[0-9]+)?\]`)
)

// Read refuses what the server would refuse, or drop, or fail at.
func (o Ollama) Read(r *http.Request, body []byte) (*Request, error) {
	if r.Method != http.MethodPost || r.URL.Path != "/api/chat" {
		return nil, fmt.Errorf("no such endpoint: %s %s", r.Method, r.URL.Path)
	}
	var in ollamaRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	if in.Model == "" || len(in.Messages) == 0 {
		return nil, errors.New("model is required")
	}
	req := &Request{Stream: in.Stream == nil || *in.Stream}
	for i, t := range in.Tools {
		f := t.Function
		if t.Type != "function" || !ollamaName.MatchString(f.Name) || ollamaMark.MatchString(f.Description) {
			return nil, fmt.Errorf("tools[%d]: %+v", i, t)
		}
		// The prompts of models print it decoded.
		var shown any
		if json.Unmarshal(f.Parameters, &shown) != nil || ollamaMark.MatchString(fmt.Sprint(shown)) {
			return nil, fmt.Errorf("tools[%d]: invalid image index: %s", i, f.Parameters)
		}
		if slices.ContainsFunc(req.Tools, func(t Tool) bool { return t.Name == f.Name }) {
			return nil, fmt.Errorf("tools[%d]: %q is there twice", i, f.Name)
		}
		if err := ollamaParameters(f.Parameters); err != nil {
			return nil, fmt.Errorf("tools[%d].function.parameters: %w", i, err)
		}
		req.Tools = append(req.Tools, Tool{Name: f.Name, Description: f.Description, Schema: f.Parameters})
	}
	return req, o.messages(req, in.Messages)
}

// ollamaParameters refuses a schema whose root has what the server does not decode, or
// not what the prompts of models print.
func ollamaParameters(raw json.RawMessage) error {
	var root map[string]json.RawMessage
	if err := json.Unmarshal(raw, &root); err != nil {
		return err
	}
	var required []string
	if root["required"] != nil && json.Unmarshal(root["required"], &required) != nil {
		return fmt.Errorf("required is no list of names: %s", root["required"])
	}
	if string(root["type"]) != `"object"` || len(root["properties"]) == 0 || root["properties"][0] != '{' {
		return fmt.Errorf("is no object with properties: %s", raw)
	}
	for keyword := range root {
		if keyword != "type" && keyword != "properties" && keyword != "required" {
			return fmt.Errorf("%s would be dropped", keyword)
		}
	}
	return ollamaProperties(root["properties"])
}

// ollamaProperties refuses what the server does not decode of properties. It decodes
// items into anything.
func ollamaProperties(raw json.RawMessage) error {
	var properties map[string]map[string]json.RawMessage
	if err := json.Unmarshal(raw, &properties); err != nil {
		return err
	}
	for name, p := range properties {
		for keyword := range p {
			if !slices.Contains([]string{"anyOf", "type", "items", "description", "enum", "properties"}, keyword) {
				return fmt.Errorf("%s: %s would be dropped", name, keyword)
			}
		}
		if p == nil {
			return fmt.Errorf("%s is no schema", name)
		}
		for keyword, kinds := range map[string]string{"type": `"[`, "description": `"`, "enum": "[", "properties": "{"} {
			if v := p[keyword]; v != nil && !strings.ContainsRune(kinds, rune(v[0])) {
				return fmt.Errorf("%s: cannot unmarshal %s into %s", name, v, keyword)
			}
		}
		var branches []json.RawMessage
		if p["anyOf"] != nil && json.Unmarshal(p["anyOf"], &branches) != nil {
			return fmt.Errorf("%s.anyOf is no list", name)
		}
		for i, b := range branches {
			if err := ollamaProperties(json.RawMessage(fmt.Sprintf(`{"%d":%s}`, i, b))); err != nil {
				return fmt.Errorf("%s.anyOf: %w", name, err)
			}
		}
		if p["properties"] != nil {
			if err := ollamaProperties(p["properties"]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// messages reads the conversation. The prompts of models know results by their order.
func (o Ollama) messages(req *Request, messages []ollamaMessage) error {
	var open []ollamaCall
	for i, m := range messages {
		if m.Role != "tool" && len(open) > 0 {
			return fmt.Errorf("messages[%d]: %d calls have no result", i, len(open))
		}
		if m.Role != "user" && len(m.Images) > 0 {
			return fmt.Errorf("messages[%d]: images in a message of role %q, which prompts drop", i, m.Role)
		}
		if strings.TrimSpace(m.Content) == "" && len(m.ToolCalls) == 0 {
			return fmt.Errorf("messages[%d]: there is nothing in it", i)
		}
		if ollamaMark.MatchString(m.Content) {
			return fmt.Errorf("messages[%d]: invalid image index: %q", i, m.Content)
		}
		switch m.Role {
		case "system":
		case "user":
			if len(m.Images) == 0 {
				req.Users = append(req.Users, m.Content)
			}
			if len(m.Images) > 1 {
				return fmt.Errorf("messages[%d]: this model only supports one image while more than one image requested", i)
			}
			for _, data := range m.Images {
				media, err := mediaOf(http.DetectContentType(data), data, "image/png", "image/jpeg", "image/webp")
				if err != nil {
					return fmt.Errorf("messages[%d]: failed to decode image: %w", i, err)
				}
				req.Media = append(req.Media, media)
			}
		case "assistant":
			for _, c := range m.ToolCalls {
				if !ollamaName.MatchString(c.Function.Name) || (c.ID == "") != o.WithoutIDs || len(c.Function.Arguments) == 0 || c.Function.Arguments[0] != '{' {
					return fmt.Errorf("messages[%d]: a call %+v", i, c)
				}
			}
			open = m.ToolCalls
		case "tool":
			if len(open) == 0 || m.ToolName != open[0].Function.Name || m.ToolCallID != open[0].ID {
				return fmt.Errorf("messages[%d]: the result of %q %q is not that of the next call of %v", i, m.ToolName, m.ToolCallID, open)
			}
			open = open[1:]
			req.Results = append(req.Results, Result{CallID: m.ToolCallID, Name: m.ToolName, Text: m.Content})
		default:
			return fmt.Errorf("messages[%d]: role %q", i, m.Role)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d calls have no result", len(open))
	}
	return nil
}

// Write answers as the server does: in lines, each a piece, unless the request says
// that it wants one.
func (o Ollama) Write(w http.ResponseWriter, req *Request, reply Reply) {
	var calls []ollamaCall
	for i, c := range reply.Calls {
		call := ollamaCall{ID: c.ID}
		if o.WithoutIDs {
			call.ID = ""
		}
		call.Function.Index, call.Function.Name, call.Function.Arguments = i, c.Name, c.Arguments
		calls = append(calls, call)
	}
	if !req.Stream {
		writeJSON(w, http.StatusOK, ollamaPiece(ollamaMessage{Content: reply.Text, ToolCalls: calls}, true))
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	line := func(m ollamaMessage, done bool) {
		data, _ := json.Marshal(ollamaPiece(m, done))
		_, _ = w.Write(append(data, '\n'))
	}
	for text := range strings.SplitAfterSeq(reply.Text, "o") {
		line(ollamaMessage{Content: text}, false)
	}
	for _, c := range calls {
		line(ollamaMessage{ToolCalls: []ollamaCall{c}}, false)
	}
	line(ollamaMessage{}, true)
}

func ollamaPiece(m ollamaMessage, done bool) any {
	m.Role = "assistant"
	piece := map[string]any{"model": "scripted", "created_at": "2026-01-01T00:00:00Z", "message": m, "done": done}
	if done {
		piece["done_reason"] = "stop"
	}
	return piece
}

// Refuse answers with the server's form of an error.
func (Ollama) Refuse(w http.ResponseWriter, reason string) {
	writeJSON(w, http.StatusBadRequest, map[string]any{"error": reason})
}
