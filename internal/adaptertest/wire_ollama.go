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

// Ollama is the wire of the chat API of Ollama. Its server refuses little, and drops
// what it does not know; this one refuses what would be dropped.
type Ollama struct {
	// WithoutIDs is a server before calls had ids.
	WithoutIDs bool
}

type ollamaRequest struct {
	Model    string            `json:"model"`
	Messages []ollamaMessage   `json:"messages"`
	Stream   *bool             `json:"stream"`
	Tools    []json.RawMessage `json:"tools"`
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
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

var (
	// ollamaMark is where the server puts an image, even in the text of a tool.
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
	for i, raw := range in.Tools {
		var t ollamaTool
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, fmt.Errorf("tools[%d]: %w", i, err)
		}
		f := t.Function
		if ollamaMark.MatchString(f.Description) {
			return nil, fmt.Errorf("tools[%d]: %s", i, raw)
		}
		// The prompts of models print it decoded.
		var shown any
		if json.Unmarshal(f.Parameters, &shown) != nil || ollamaMark.MatchString(fmt.Sprint(shown)) {
			return nil, fmt.Errorf("tools[%d]: invalid image index: %s", i, f.Parameters)
		}
		problems := providercheck.Ollama(raw)
		if dropped, err := ollamaDrops(raw, f.Parameters); err != nil || dropped {
			problems = append(problems, fmt.Sprintf("the server would drop some of %s, %v", f.Parameters, err))
		}
		if err := req.declare(Tool{Name: f.Name, Description: f.Description, Schema: f.Parameters}, problems); err != nil {
			return nil, fmt.Errorf("tools[%d]: %w", i, err)
		}
	}
	return req, o.messages(req, in.Messages)
}

// ollamaDrops reports whether the server does not show the model all of a schema.
func ollamaDrops(declaration, schema []byte) (bool, error) {
	seen, err := providercheck.SeenByOllama(declaration)
	if err != nil {
		return false, err
	}
	sent, err := providercheck.Read(schema)
	return err == nil && seen.Write() != sent.Write(), err
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
				if !providercheck.OllamaName.MatchString(c.Function.Name) || (c.ID == "") != o.WithoutIDs || len(c.Function.Arguments) == 0 || c.Function.Arguments[0] != '{' {
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
